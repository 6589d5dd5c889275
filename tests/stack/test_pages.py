"""Every page of a seeded installation, found by following links: accessible, no complaint, fits a phone, in Chinese."""

import csv
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.stack.installation import EMAIL, PASSWORD, Muster

pytestmark = pytest.mark.long

ID = re.compile(r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d+)(?=/|$)")
NOT_PAGES = re.compile(r"^/(?:api|static|live|metrics$|healthz|readyz|i18n|nodes/map/data)")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ONLY_WHAT_IS_WRONG = {"resultTypes": ["violations"], "preload": False}
LINKS = "links => links.map((link) => new URL(link.getAttribute('href'), location.href).href)"


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    """An installation with the example projects and workloads."""
    installation = Muster(tmp_path_factory.mktemp("seeded"), fleet="small")
    try:
        yield installation.start()
    finally:
        if installation.process is not None:
            installation.stop()


@pytest.fixture(scope="module")
def session(seeded: Muster, chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(base_url=seeded.url, viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.goto("/account/login")
    tab.get_by_label("E-mail").fill(EMAIL)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    tab.wait_for_url(f"{seeded.url}/")
    tab.close()
    yield context
    context.close()


@pytest.fixture(scope="module")
def addresses(seeded: Muster, session: BrowserContext) -> list[str]:
    """One address for every kind of page, by following links from the overview."""
    tab = session.new_page()
    found: dict[str, str] = {}
    waiting = ["/", "/account/login", "/search?q=a"]
    while waiting:
        address = waiting.pop(0)
        kind = ID.sub("/…", urlsplit(address).path)
        if kind in found:
            continue
        found[kind] = address
        tab.goto(address)
        for link in tab.locator("a[href]:not([download])").evaluate_all(LINKS):
            parts = urlsplit(link)
            if f"{parts.scheme}://{parts.netloc}" == seeded.url and not NOT_PAGES.match(parts.path):
                waiting.append(parts.path)
    tab.close()
    return list(found.values())


def test_the_pages_of_every_package_are_reached(addresses: list[str]) -> None:
    kinds = {ID.sub("/…", address) for address in addresses}

    assert {
        "/",
        "/clusters/",
        "/clusters/…/",
        "/departments/",
        "/departments/…/",
        "/gpu-utilisation/",
        "/network-topologies/",
        "/network-topologies/…/",
        "/node-pools/",
        "/node-pools/…/",
        "/nodes/",
        "/nodes/…/",
        "/nodes/map/",
        "/projects/",
        "/projects/…/",
        "/workloads/",
        "/workloads/…/",
        "/workloads/new/",
    } <= kinds


def test_every_page_is_accessible_fits_and_nothing_complains(session: BrowserContext, addresses: list[str]) -> None:
    wrong = {}
    for address in addresses:
        tab = session.new_page()
        complaints = _complaints(tab)
        answer = tab.goto(address)
        tab.set_viewport_size({"width": 390, "height": 844})
        overflow = tab.evaluate(OVERFLOW)
        tab.set_viewport_size({"width": 1440, "height": 900})
        heard = list(complaints)  # axe itself makes the browser complain
        violations = [
            (violation["id"], node["html"][:160])
            for violation in Axe().run(tab, options=ONLY_WHAT_IS_WRONG).response["violations"]
            for node in violation["nodes"]
        ]
        if heard or violations or overflow or answer is None or answer.status != 200:
            wrong[address] = (answer.status if answer else None, overflow, heard, violations)
        tab.close()

    assert wrong == {}


LISTS = ("clusters", "departments", "network-topologies", "node-pools", "nodes", "projects", "workloads")


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_exported_whole(session: BrowserContext, seeded: Muster, name: str) -> None:
    answer = session.request.get(f"{seeded.url}/{name}/?format=csv")

    assert answer.status == 200
    rows = list(csv.DictReader(answer.text().removeprefix("\ufeff").splitlines()))
    assert rows
    assert all(row["Name"] for row in rows)


def test_every_page_speaks_chinese_on_a_phone(session: BrowserContext, seeded: Muster, addresses: list[str]) -> None:
    session.add_cookies([{"name": "django_language", "value": "zh-hans", "url": seeded.url}])
    tab = session.new_page()
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.emulate_media(color_scheme="dark")
    complaints = _complaints(tab)
    wrong = {}
    for address in addresses:
        tab.goto(address)
        spoken = tab.evaluate("document.documentElement.lang")
        overflow = tab.evaluate(OVERFLOW)
        chinese = any("\u4e00" <= character <= "\u9fff" for character in tab.title())
        if overflow or complaints or spoken != "zh-hans" or not (chinese or ID.search(address)):
            wrong[address] = (overflow, list(complaints), spoken, tab.title())
        complaints.clear()
    tab.close()
    session.clear_cookies(name="django_language")

    assert wrong == {}


def _complaints(tab: Page) -> list[str]:
    """What the console and the content security policy say of the tab, filled while it is open."""
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints
