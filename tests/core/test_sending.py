"""What is sent, and how often: forms that are pressed twice, dialogs that are asked for twice or get no answer, and
pages that the browser kept while somebody was elsewhere."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.core.browser import ORIGIN, serve

FORM = '<form method="post" action="/send"><input name="name"><button>Save</button></form>'
LINK = '<a href="/ask" data-dialog>Delete…</a>'
DIALOG = '<!doctype html><title>ask</title><div data-dialog-body><form class="confirm"><h1>Sure?</h1></form></div>'
RESTORED = 'window.dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))'


@pytest.fixture
def tab(chromium: Browser, pages: dict[str, str]) -> Iterator[Page]:
    main = rf"\1{FORM}{LINK}</main>"
    gallery = re.sub(r'(<main id="main"[^>]*>).*</main>', main, pages["/gallery"], flags=re.DOTALL)
    with chromium.new_context() as session:
        page = session.new_page()
        complaints = serve(page, {"/gallery": gallery, "/ask": DIALOG})
        page.goto(f"{ORIGIN}/gallery")
        yield page
        assert [words for words in complaints if not words.startswith("Failed to load resource")] == []


def held(tab: Page, path: str) -> list[Route]:
    """Requests for `path` wait here for their answer."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    tab.route(f"**{path}", hold)
    return waiting


def await_held(tab: Page, waiting: list[Route], count: int) -> None:
    """A request is held a moment after the browser tells of it."""
    deadline = time.monotonic() + 30
    while len(waiting) < count:
        assert time.monotonic() < deadline, f"{len(waiting)} of {count} requests came"
        tab.wait_for_timeout(20)


def press(tab: Page, selector: str) -> None:
    """As a finger does: without waiting for what comes of it."""
    tab.locator(selector).dispatch_event("click")


def test_a_form_that_is_pressed_twice_is_sent_once_and_again_after_one_came_back(tab: Page) -> None:
    stopped = tab.evaluate(f"""() => {{
      const stopped = [];
      addEventListener("submit", (event) => {{ stopped.push(event.defaultPrevented); event.preventDefault(); }});
      const button = document.querySelector("main button");
      button.click();
      button.click();
      {RESTORED};
      button.click();
      return stopped;
    }}""")

    assert stopped == [False, True, False]


def test_a_dialog_that_is_asked_for_twice_opens_once(tab: Page) -> None:
    waiting = held(tab, "/ask")
    press(tab, "main a")
    press(tab, "main a")
    await_held(tab, waiting, 2)

    for route in waiting:
        route.fulfill(status=200, content_type="text/html", body=DIALOG)

    expect(tab.get_by_role("heading", name="Sure?")).to_have_count(1)


def test_a_dialog_whose_page_does_not_answer_is_opened_as_a_page(tab: Page) -> None:
    waiting = held(tab, "/ask")
    press(tab, "main a")
    await_held(tab, waiting, 1)
    tab.unroute("**/ask")

    with tab.expect_navigation(url="**/ask"):
        waiting[0].abort()

    expect(tab).to_have_title("ask")


def test_a_page_that_the_browser_kept_listens_again(chromium: Browser, pages: dict[str, str]) -> None:
    live = pages["/gallery"].replace("<body ", '<body data-live-url="/live" ', 1)
    live = live.replace('id="list" ', 'id="list" data-live="workloads.Workload" ', 1)
    with chromium.new_context() as session:
        page = session.new_page()
        serve(page, {"/gallery": live})
        with page.expect_request("**/live?*"):
            page.goto(f"{ORIGIN}/gallery")

        with page.expect_request("**/live?*"):
            page.evaluate(RESTORED)
