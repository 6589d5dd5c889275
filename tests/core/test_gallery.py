"""Every component, drawn in a browser: nothing the console or the policy complains about, accessible, no overflow."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.test import RequestFactory
from playwright.sync_api import Browser

from tests.core.browser import ORIGIN, browser, serve
from tests.core.gallery import context

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as chromium:
        yield chromium


@pytest.fixture
def pages(rf: RequestFactory, settings: Any) -> dict[str, str]:
    (options,) = settings.TEMPLATES
    with_gallery = {**options, "DIRS": (*options["DIRS"], HERE / "templates")}
    settings.TEMPLATES = (with_gallery,)
    engine = engines["django"]
    assert isinstance(engine, DjangoTemplates)
    request = rf.get("/gallery", {"sort": "phase"})
    return {
        "/gallery": engine.get_template("gallery.html").render(context(), request),
        "/confirm": engine.get_template("confirm.html").render(
            {**context(), "title": "Delete topology a", "name": "a", "act": "Delete topology", "back_url": "/"},
            request,
        ),
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_component_is_accessible_and_fits(
    chromium: Browser, pages: dict[str, str], theme: Any, width: int, tmp_path: Path
) -> None:
    tab = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    complaints = serve(tab, pages)

    tab.goto(f"{ORIGIN}/gallery")
    tab.locator("[data-chart]").scroll_into_view_if_needed()
    tab.wait_for_selector("[data-chart][data-drawn]", timeout=15_000)
    tab.evaluate("scrollTo(0, 0)")
    folder = Path(os.environ.get("MUSTER_SCREENSHOTS", tmp_path))
    tab.screenshot(path=folder / f"gallery-{width}-{theme}.png", full_page=True)

    assert complaints == []
    overflow = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0
    violations = Axe().run(tab).response["violations"]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in violations] == []
    tab.close()
