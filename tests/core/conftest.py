"""A browser, and the gallery's pages rendered by the project's own template engine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.test import RequestFactory
from playwright.sync_api import Browser

from tests.core.browser import browser
from tests.core.gallery import context

HERE = Path(__file__).parent
Render = Callable[..., str]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Ends with the module: while it lives, an event loop runs, and nothing else can run one."""
    with browser() as chromium:
        yield chromium


@pytest.fixture
def render(rf: RequestFactory, settings: Any) -> Render:
    """Renders a template of the gallery or of the project with the sample data."""
    (options,) = settings.TEMPLATES
    settings.TEMPLATES = ({**options, "DIRS": (*options["DIRS"], HERE / "templates")},)
    engine = engines["django"]
    assert isinstance(engine, DjangoTemplates)

    def render(template: str, **more: object) -> str:
        request = rf.get("/gallery", {"sort": "phase"})
        return str(engine.get_template(template).render({**context(), **more}, request))

    return render


@pytest.fixture
def pages(render: Render) -> dict[str, str]:
    confirm = {"title": "Delete topology a", "name": "a", "act": "Delete topology", "back_url": "/"}
    return {"/gallery": render("gallery.html"), "/confirm": render("confirm.html", **confirm)}
