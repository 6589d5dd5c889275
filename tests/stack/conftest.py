"""Fixtures of the tests that run every process: `muster`, an unseeded installation, shared by the whole session."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.stack.installation import EMAIL, PASSWORD, Muster

# A page may take this long on a busy machine.
PAGE_MILLISECONDS = 60_000
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this folder is `stack`."""
    for item in items:
        if "tests/stack/" in str(item.path):
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    installation = Muster(tmp_path_factory.mktemp("muster"))
    try:
        yield installation.start()
    finally:
        if installation.process is not None:
            installation.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("missing: Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        expect.set_options(timeout=PAGE_MILLISECONDS)
        yield browser
        browser.close()


def new_context(chromium: Browser, muster: Muster) -> BrowserContext:
    """A window of its own on an installation."""
    context = chromium.new_context(base_url=muster.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PAGE_MILLISECONDS)
    return context


def sign_in(tab: Page, muster: Muster) -> None:
    """As the administrator."""
    tab.goto("/account/login")
    tab.get_by_label("E-mail").fill(EMAIL)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(f"{muster.url}/")


@pytest.fixture(scope="session")
def signed_in(muster: Muster, chromium: Browser) -> Iterator[BrowserContext]:
    """A browser in which the administrator has signed in."""
    context = new_context(chromium, muster)
    tab = context.new_page()
    sign_in(tab, muster)
    tab.close()
    yield context
    context.close()


@pytest.fixture
def page(signed_in: BrowserContext) -> Iterator[Page]:
    """A tab; the test fails when the console or the content security policy complained in it."""
    tab = signed_in.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    tab.close()
    assert complaints == []
