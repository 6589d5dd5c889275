"""What the console's scripts do, by keyboard and pointer, in a browser."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.core.browser import ORIGIN, serve
from tests.core.conftest import Render


@pytest.fixture
def tab(chromium: Browser, pages: dict[str, str]) -> Iterator[Page]:
    with chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light") as session:
        page = session.new_page()
        complaints = serve(page, {**pages, "/w/2": "<!doctype html><title>row 2</title>"})
        page.goto(f"{ORIGIN}/gallery")
        page.evaluate("document.activeElement.blur()")  # the dialog drawn in the gallery takes the focus
        yield page
        assert complaints == []


@pytest.fixture
def live(pages: dict[str, str]) -> str:
    """The gallery as a live page: its list follows the topic of workloads, and it says how the stream is."""
    page = pages["/gallery"].replace("<body ", '<body data-live-url="/live" ', 1)
    page = page.replace('id="list" ', 'id="list" data-live="workloads.Workload" ', 1)
    return page.replace('<div class="end">', '<div class="end"><span class="live" id="live"></span>', 1)


def test_rows_are_walked_selected_and_opened_by_keyboard(tab: Page) -> None:
    tab.keyboard.press("j")
    expect(tab.locator("#row-1")).to_be_focused()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("x")
    tab.keyboard.press("j")
    tab.keyboard.press("x")

    expect(tab.locator("#row-3")).to_be_focused()
    expect(tab.locator("#bulk")).to_be_visible()
    expect(tab.locator("[data-selected-count]")).to_have_text("2 selected")
    assert tab.locator("tbody tr[tabindex='0']").count() == 1

    tab.keyboard.press("k")
    tab.keyboard.press("Enter")
    expect(tab).to_have_title("row 2")


def test_a_range_is_selected_with_shift_and_cleared(tab: Page) -> None:
    tab.locator("#row-2 .check").click()
    tab.locator("#row-5 .check").click(modifiers=["Shift"])

    expect(tab.locator("[data-selected-count]")).to_have_text("4 selected")
    assert tab.locator("[data-select-all]").evaluate("box => box.indeterminate")

    tab.locator("#bulk button[type=reset]").click()
    expect(tab.locator("#bulk")).to_be_hidden()


def test_the_theme_is_switched_and_remembered(tab: Page) -> None:
    tab.locator(".topbar > .end > [data-action=theme]").click()
    tab.reload()

    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    assert tab.evaluate("getComputedStyle(document.querySelector('.body')).backgroundColor") == "rgb(19, 22, 26)"


def test_the_navigation_folds_and_stays_folded(tab: Page) -> None:
    tab.locator("[data-action=fold]").click()
    tab.reload()

    expect(tab.locator(".nav .item .word").first).to_be_hidden()
    expect(tab.locator("[data-action=fold]")).to_have_attribute("aria-expanded", "false")


def test_the_drawer_opens_takes_the_focus_and_closes(tab: Page) -> None:
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.locator("[data-action=nav]").click()

    expect(tab.locator(".nav [aria-current]")).to_be_focused()
    tab.keyboard.press("Escape")
    expect(tab.locator(".nav")).to_be_hidden()
    expect(tab.locator("[data-action=nav]")).to_be_focused()


def test_a_destructive_act_needs_the_name(tab: Page) -> None:
    tab.locator(".page-head details summary").click()
    tab.locator(".page-head .menu .danger").click()
    act = tab.locator("#dialog button.destroy")

    expect(tab.locator("#dialog [name=confirm]")).to_be_focused()
    expect(act).to_have_attribute("aria-disabled", "true")
    tab.keyboard.type("b")
    act.click(force=True)
    expect(tab.locator("#dialog")).to_be_visible()
    tab.keyboard.press("Backspace")
    tab.locator("#dialog [name=confirm]").fill("a")
    expect(act).not_to_have_attribute("aria-disabled", "true")
    assert tab.locator("#dialog form").get_attribute("action") == f"{ORIGIN}/confirm"

    tab.keyboard.press("Escape")
    expect(tab.locator("#dialog")).to_be_hidden()
    expect(tab.locator(".page-head details summary")).to_be_focused()


def test_the_search_opens_and_is_walked_by_keyboard(tab: Page) -> None:
    tab.keyboard.press("/")
    search = tab.locator("#palette input[type=search]")

    expect(search).to_be_focused()
    tab.keyboard.press("ArrowDown")
    expect(search).to_have_attribute("aria-activedescendant", "result-1")
    expect(tab.locator("#result-1")).to_have_text("Workloads")
    search.evaluate("field => { field.value = 'wo'; }")  # a filled field would keep the first Escape for itself
    tab.keyboard.press("Escape")
    expect(tab.locator("#palette")).to_be_hidden()
    tab.keyboard.press("Control+k")
    expect(search).to_be_focused()


def test_a_filter_offers_what_fits_its_field(tab: Page) -> None:
    tab.locator("#filter-popup summary").click()
    operators = tab.locator("#filter-op option")

    expect(operators).to_have_text(["is", "is not"])
    tab.locator("#filter-field").select_option("asked")
    expect(operators).to_have_text(["≥", "≤", "is", "is not"])
    tab.keyboard.press("Escape")
    expect(tab.locator("#filter-popup form")).to_be_hidden()


def test_columns_are_chosen_by_their_words(tab: Page) -> None:
    tab.locator("#column-popup summary").click()
    tab.locator("#column-popup label", has_text="Project").click()

    expect(tab.locator("#column-popup input[value=project]")).not_to_be_checked()
    expect(tab.locator("#column-popup form")).to_be_visible()


def test_levels_are_reordered_by_keys_and_buttons(tab: Page) -> None:
    order = tab.locator("[data-order]")
    values = "list => [...list.querySelectorAll('input')].map((input) => input.value.split('/')[1])"
    order.locator("li").nth(0).locator("[data-move=down]").focus()

    tab.keyboard.press("Alt+ArrowDown")
    assert order.evaluate(values) == ["rack", "zone", "hostname"]
    order.locator("li").nth(2).locator("[data-move=up]").click()
    assert order.evaluate(values) == ["rack", "hostname", "zone"]
    expect(tab.locator("#announcer")).to_have_text("kubernetes.io/hostname is now level 2")
    order.locator("li").nth(0).drag_to(order.locator("li").nth(2))
    assert order.evaluate(values)[0] == "hostname"


def test_the_tree_is_walked_by_where_its_domains_lie(tab: Page) -> None:
    tab.locator("[data-icicle] a[tabindex='0']").focus()

    tab.keyboard.press("ArrowRight")
    expect(tab.locator("[data-icicle] a:focus")).to_have_attribute("aria-label", re.compile("^z2: 72 GPUs"))
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("[data-icicle] a:focus")).to_have_attribute("aria-label", re.compile("^gpu-14"))
    assert tab.locator("[data-icicle] a[tabindex='0']").count() == 1


def test_the_map_has_one_tab_stop_and_says_what_a_cell_is(tab: Page) -> None:
    cells = tab.locator("[data-gpu-map] .cell")
    cells.nth(0).focus()

    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#cell-facts")).to_have_text("gpu-02 GPU 1: 86")
    assert tab.locator("[data-gpu-map] .cell[tabindex='0']").count() == 1


def test_the_editor_numbers_lines_and_marks_problems(tab: Page) -> None:
    editor = tab.locator("[data-editor]")
    area = editor.locator("textarea")
    area.fill("a:\n  b: 1")
    area.press("End")
    area.press("Enter")
    area.type("c: 2")

    assert area.input_value() == "a:\n  b: 1\n  c: 2"
    expect(editor.locator(".gutter span")).to_have_text(["1", "2", "3"])
    expect(editor.locator(".gutter .bad")).to_have_text("1")


def test_times_are_shown_in_the_viewers_zone(chromium: Browser, pages: dict[str, str]) -> None:
    with chromium.new_context(timezone_id="Asia/Tokyo", locale="en-GB") as session:
        page = session.new_page()
        serve(page, pages)
        page.goto(f"{ORIGIN}/gallery")

        expect(page.locator(".timeline time").first).to_have_text("Nov 24, 2026, 23:02")
        expect(page.locator(".timeline time").first).to_have_attribute("title", "2026-11-24 14:02:31 UTC")


def test_a_live_page_changes_in_place_and_keeps_the_focus(chromium: Browser, live: str) -> None:
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as session:
        page = session.new_page()
        served = {"/gallery": live}
        serve(page, served)
        page.route(re.compile(r"/live\?topic=workloads\.Workload$"), _one_message('["workloads.Workload"]'))
        page.goto(f"{ORIGIN}/gallery")
        page.locator("#row-4 .check").click()
        page.locator("#list-search").focus()
        page.locator("#list-search").evaluate("field => { field.value = 'half a wo' }")
        served["/gallery"] = live.replace("39 min</td>", "40 min</td>").replace("eval-longctx", "eval-renamed")

        expect(page.locator("#row-2 .name")).to_have_text("eval-renamed", timeout=15_000)
        expect(page.locator("#row-1 .since-cell")).to_have_text("40 min")
        expect(page.locator("#list-search")).to_be_focused()
        expect(page.locator("#list-search")).to_have_value("half a wo")
        expect(page.locator("#row-4 .check")).to_be_checked()


def test_new_rows_wait_while_somebody_points_at_the_list(chromium: Browser, pages: dict[str, str]) -> None:
    live = pages["/gallery"].replace("<body ", '<body data-live-url="/live" ', 1)
    live = live.replace('id="list" ', 'id="list" data-live="workloads.Workload" ', 1)
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as session:
        page = session.new_page()
        row = re.search(r'<tr id="row-1".*?</tr>', live, re.DOTALL)
        assert row
        served = {"/gallery": live}
        serve(page, served)
        page.route(re.compile(r"/live\?topic=workloads\.Workload$"), _one_message('["workloads.Workload.9"]'))
        page.goto(f"{ORIGIN}/gallery")
        page.locator("#row-3").hover()
        served["/gallery"] = live.replace(row[0], row[0].replace("row-1", "row-99") + row[0])

        expect(page.locator("[data-new-rows]")).to_have_text("1 new", timeout=15_000)
        assert page.locator("#row-99").count() == 0


def test_what_somebody_unfolded_stays_so_when_the_page_refreshes(chromium: Browser, pages: dict[str, str]) -> None:
    live = pages["/gallery"].replace("<body ", '<body data-live-url="/live" ', 1)
    more = '<details id="more"><summary>More</summary>1 word</details>'
    live = re.sub(
        r'<div class="list-area" id="list"', rf'<div id="part" data-live="a.B">{more}</div>\g<0>', live, count=1
    )
    with chromium.new_context() as session:
        page = session.new_page()
        served = {"/gallery": live}
        serve(page, served)
        page.route(re.compile(r"/live\?topic=a\.B$"), _one_message('["a.B"]'))
        page.goto(f"{ORIGIN}/gallery")
        page.locator("#more summary").click()
        served["/gallery"] = live.replace("1 word", "2 words")

        expect(page.locator("#more")).to_contain_text("2 words", timeout=15_000)
        expect(page.locator("#more")).to_have_attribute("open", "")


def test_what_a_part_has_fetched_stays_when_the_page_refreshes(chromium: Browser, pages: dict[str, str]) -> None:
    live = pages["/gallery"].replace("<body ", '<body data-live-url="/live" ', 1)
    told = (
        '<div id="told" hx-get="/told" hx-trigger="load, every 60s" hx-swap="innerHTML"><a href="/told">Show</a></div>'
    )
    live = re.sub(
        r'<div class="list-area" id="list"',
        rf'<div id="part" data-live="a.B">{told}<p>1 word</p></div>\g<0>',
        live,
        count=1,
    )
    with chromium.new_context() as session:
        page = session.new_page()
        served = {"/gallery": live, "/told": "74 %"}
        serve(page, served)
        page.route(re.compile(r"/live\?topic=a\.B$"), _one_message('["a.B"]'))
        page.goto(f"{ORIGIN}/gallery")
        expect(page.locator("#told")).to_have_text("74 %")
        served["/gallery"] = live.replace("1 word", "2 words")

        expect(page.locator("#part")).to_contain_text("2 words", timeout=15_000)
        expect(page.locator("#told")).to_have_text("74 %")


def test_a_lost_stream_is_said_with_the_time(chromium: Browser, live: str) -> None:
    with chromium.new_context() as session:
        page = session.new_page()
        serve(page, {"/gallery": live})
        page.goto(f"{ORIGIN}/gallery")

        expect(page.locator("#live")).to_have_text("updates every 15 s")


OPEN_AND_SILENT = """
window.EventSource = class extends EventTarget {
  constructor() { super(); this.readyState = 1; setTimeout(() => this.dispatchEvent(new Event("open")), 50); }
  close() {}
};
"""


def test_what_could_not_be_fetched_once_is_asked_for_again_though_the_stream_is_silent(
    chromium: Browser, live: str
) -> None:
    with chromium.new_context() as session:
        page = session.new_page()
        served = {"/gallery": live}
        serve(page, served)
        page.clock.install()
        page.add_init_script(OPEN_AND_SILENT)
        page.route(
            "**/gallery",
            lambda route: route.fulfill(status=502, body="busy") if _refreshes(route) else route.fallback(),
        )
        page.goto(f"{ORIGIN}/gallery")
        page.clock.run_for(1000)
        expect(page.locator("#live")).to_contain_text("no connection since", timeout=15_000)

        page.unroute("**/gallery")
        served["/gallery"] = live.replace("eval-longctx", "eval-renamed")
        page.clock.run_for(16_000)

        expect(page.locator("#row-2 .name")).to_have_text("eval-renamed", timeout=15_000)
        expect(page.locator("#live")).to_have_text("live")


def _refreshes(route: Route) -> bool:
    return "x-live-refresh" in route.request.headers


@pytest.mark.parametrize(
    ("answer", "words"),
    [(404, "no longer there"), (403, "no longer permitted"), (401, "signed out: sign in again")],
)
def test_a_live_page_that_is_gone_says_so_and_not_that_the_connection_is_lost(
    chromium: Browser, live: str, answer: int, words: str
) -> None:
    with chromium.new_context() as session:
        page = session.new_page()
        serve(page, {"/gallery": live})
        page.route(re.compile(r"/live\?topic"), _one_message('["workloads.Workload"]'))
        page.goto(f"{ORIGIN}/gallery")
        page.route("**/gallery", lambda route: route.fulfill(status=answer, body="nothing"))

        expect(page.locator("#live")).to_have_text(words, timeout=15_000)


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ("2026-11-24T14:02:00Z", "stale since 14:02:00: watcher of cluster-a is down"),
        ("", "watcher of cluster-a is down"),
    ],
)
def test_a_watcher_that_is_down_is_said_until_it_is_back(chromium: Browser, live: str, since: str, words: str) -> None:
    down = f'{{"stale": "watcher of cluster-a is down", "since": "{since}"}}'
    with chromium.new_context(timezone_id="UTC") as session:
        page = session.new_page()
        serve(page, {"/gallery": live})
        page.route(
            re.compile(r"/live\?topic"), _one_message('["workloads.Workload"]', f"event: state\ndata: {down}\n\n")
        )
        page.goto(f"{ORIGIN}/gallery")
        with page.expect_request("**/gallery"):
            pass

        expect(page.locator("#live")).to_have_text(words)
        expect(page.locator("#live")).to_have_class("live stale")


def _one_message(data: str, before: str = "") -> object:
    def answer(route: Route) -> None:
        route.fulfill(status=200, content_type="text/event-stream", body=f"retry: 300\n{before}data: {data}\n\n")

    return answer


def test_forty_thousand_gpus_are_drawn_and_walked(chromium: Browser, render: Render) -> None:
    nodes = [
        {"name": f"n{i}", "url": f"/n/{i}", "values": [i % 101, 101, 102, 103, 104, 0, 100, 110]} for i in range(5000)
    ]
    racks = [{"name": f"r{i}", "nodes": nodes[i * 20 : i * 20 + 20]} for i in range(250)]
    groups = [{"name": f"z{i}", "note": "50 racks", "racks": racks[i * 50 : i * 50 + 50]} for i in range(5)]
    data = json.dumps({"groups": groups, "words": {"101": "free"}})
    page_of_map = render("gallery_map.html", canvas_url="/map.json", label="GPUs by utilisation")
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as session:
        page = session.new_page()
        complaints = serve(page, {"/map": page_of_map, "/map.json": data})
        page.goto(f"{ORIGIN}/map")
        page.wait_for_function("() => document.querySelector('canvas').height > 600")
        page.locator("canvas").focus()

        page.keyboard.press("ArrowRight")
        expect(page.locator("#map-tip")).to_have_text("r0 › n0, GPU 0: 0 %")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#map-tip")).to_have_text("r0 › n0, GPU 1: free")
        page.keyboard.press("ArrowDown")
        expect(page.locator("#map-tip")).to_have_text("r0 › n1, GPU 1: free")
        for _ in range(20):
            page.keyboard.press("ArrowDown")
        expect(page.locator("#map-tip")).to_have_text("r1 › n21, GPU 1: free")
        assert complaints == []
