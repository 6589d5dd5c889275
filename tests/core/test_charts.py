"""Charts as a browser draws them: every label stands straight, in full, on any width."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser

from metrics.figures import distribution_figure, utilisation_figure
from metrics.series import Point
from tests.core.browser import ORIGIN, serve
from tests.core.conftest import Render

TENTHS = {str(n): f"{n * 10}–{n * 10 + 10}" for n in range(10)} | {"unmeasured": "not measured"}
SIX_HOURS = [Point(datetime(2026, 11, 30, 12, tzinfo=UTC) + timedelta(minutes=10 * n), 50.0, 50, 1) for n in range(36)]
LABELS = "labels => labels.map((label) => [label.textContent, label.getAttribute('transform') ?? ''])"


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(
    ("figure", "labels"),
    [
        (distribution_figure({"0": 3, "unmeasured": 1}, TENTHS), list(TENTHS.values())),
        (utilisation_figure([("all GPUs", SIX_HOURS)], step=600), ["0 %", "50 %", "100 %"]),
    ],
)
def test_no_label_of_a_chart_is_slanted_or_left_out(
    chromium: Browser, render: Render, figure: Any, labels: list[str], width: int
) -> None:
    tab = chromium.new_page(viewport={"width": width, "height": 900})
    serve(tab, {"/gallery": render("gallery.html", figure=figure)})
    tab.goto(f"{ORIGIN}/gallery")
    tab.locator("[data-chart]").scroll_into_view_if_needed()
    tab.wait_for_selector("[data-chart][data-drawn]", timeout=15_000)

    assert sorted(tab.locator(".ytick text").all_text_contents()) == sorted(labels)
    turned = [text for text, turn in tab.locator(".xtick text, .ytick text").evaluate_all(LABELS) if "rotate" in turn]
    assert turned == []
    tab.close()
