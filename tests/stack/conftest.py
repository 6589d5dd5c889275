"""Fixtures of the tests that run every process: `muster`, an unseeded installation, shared by the whole session."""

import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure comes with the last words of each installation that the test used."""
    report = yield
    if report.failed:
        used = {id(value): value for value in item.funcargs.values() if isinstance(value, Muster)}
        report.sections += [(f"installation in {each.data_dir}", each.last_words()) for each in used.values()]
    return report


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
    with launched() as browser:
        yield browser


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium; while there is one, this thread has an event loop that runs. Skips where none is installed."""
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


# A panel's request that ends because its page is left: no error, though htmx logs it as one.
ENDED_WITH_THE_PAGE = ("htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")
REFUSED = "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"


@dataclass
class Console:
    """What the console and the content security policy say is wrong in a tab, and which of it the test foretold."""

    said: Counter[str] = field(default_factory=Counter)
    foretold: Counter[str] = field(default_factory=Counter)

    def listen(self, tab: Page) -> None:
        """Note what this tab says from now on."""
        tab.on("console", self._note)
        tab.on("pageerror", lambda error: self.said.update([str(error)]))

    def foretell_refusal(self, url: str) -> None:
        """One form was answered 422 at this address, because it is wrong or asks first: the browser says so too."""
        self.foretold[f"{REFUSED} {url}"] += 1

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(ENDED_WITH_THE_PAGE):
            refused = f" {message.location['url']}" if message.text == REFUSED else ""
            self.said[message.text + refused] += 1


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
def console() -> Iterator[Console]:
    """The console of the test's tab; the test fails when it complained of something that was not foretold, and when
    something foretold was not said."""
    console = Console()
    yield console
    assert console.said == console.foretold


@pytest.fixture
def page(signed_in: BrowserContext, console: Console) -> Iterator[Page]:
    """A tab whose console is listened to."""
    tab = signed_in.new_page()
    console.listen(tab)
    yield tab
    tab.close()
