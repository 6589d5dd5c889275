"""Every component, drawn in a browser: nothing the console or the policy complains about, accessible, no overflow."""

import os
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.core.browser import ORIGIN, serve


@pytest.mark.parametrize(
    ("width", "theme"),
    [
        (1440, "light"),
        (390, "dark"),
        pytest.param(1440, "dark", marks=pytest.mark.long),
        pytest.param(390, "light", marks=pytest.mark.long),
    ],
)
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
