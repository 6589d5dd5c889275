"""Every page of a seeded installation, found by following links: accessible, no complaint, fits a phone, in Chinese."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.contracts.matrix import TABLE
from tests.contracts.urlconf import routes
from tests.stack.conftest import new_context, sign_in
from tests.stack.installation import Muster, wait_until
from tests.stack.main_job import RACK, await_ready, devices_of, utilisation_of

pytestmark = pytest.mark.long

ID = re.compile(r"/(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d+)(?=/|$)")
# Nor is a part that the page of a workload fetches for itself where its cluster is large.
NOT_PAGES = re.compile(r"^/(?:api/(?!docs/)|static|live|metrics$|healthz|readyz|i18n|nodes/map/data|.*/why/)")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ONLY_WHAT_IS_WRONG: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
# What can be wrong in the dark or on a phone where it is right in the light on a desk.
OTHERWISE_DRAWN = {"runOnly": ["color-contrast", "scrollable-region-focusable", "target-size", "link-in-text-block"]}
# Panels that a page fetches for itself: it is whole when each was asked for and answered.
COUNT_PANELS = """
window.panels = {expected: 0, asked: 0, open: 0};
addEventListener("DOMContentLoaded", () => {
  panels.expected = document.querySelectorAll('[hx-trigger^="load"]').length;
});
document.addEventListener("htmx:beforeRequest", () => { panels.asked += 1; panels.open += 1; });
document.addEventListener("htmx:afterRequest", () => { panels.open -= 1; });
"""
IS_WHOLE = """() => document.readyState === "complete" && panels.asked >= panels.expected && panels.open === 0
  && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling")"""
LINKS = "links => links.map((link) => new URL(link.getAttribute('href'), location.href).href)"


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    """An installation with the example projects and workloads."""
    installation = Muster(tmp_path_factory.mktemp("seeded"), fleet="small")
    try:
        installation.start()
        add_what_the_example_lacks(installation)
        wait_until(lambda: {"Running", "Pending", "Stopped"} <= phases_of(installation).keys(), "the example to stand")
        yield installation
    finally:
        if installation.process is not None:
            installation.stop()


def add_what_the_example_lacks(installation: Muster) -> None:
    """What pages of administration are about."""
    role = {"name": "reader", "permissions": [{"resourceType": "project", "actions": ["read"]}]}
    made = {
        "v1/service-accounts": {"name": "pipeline"},
        "v1/access-keys": {"name": "laptop"},
        "v2/authorization/roles": role,
    }
    for path, body in made.items():
        answer = installation.request("POST", f"/api/{path}", body)
        assert answer.status in (200, 201), answer.body


@pytest.fixture(scope="module")
def session(seeded: Muster, chromium: Browser) -> Iterator[BrowserContext]:
    context = new_context(chromium, seeded)
    context.add_init_script(COUNT_PANELS)
    tab = context.new_page()
    sign_in(tab, seeded)
    tab.close()
    yield context
    context.close()


@dataclass(frozen=True)
class Visit:
    """What an administrator sees of a page in English on a desk: its links, and what is wrong with it."""

    status: int | None
    links: list[str]
    overflow: int
    complaints: list[str]
    violations: list[tuple[str, str]]

    @property
    def is_fine(self) -> bool:
        return self.status == 200 and not (self.overflow or self.complaints or self.violations)


@pytest.fixture(scope="module")
def visits(seeded: Muster, session: BrowserContext) -> dict[str, Visit]:
    """One page of every kind, by following links from the overview, and workloads of every phase; each by its address,
    looked at when it was reached."""
    found: dict[str, Visit] = {}
    kinds: set[str] = set()
    waiting = ["/", "/account/login", "/search?q=a", "/api/docs/", *what_can_be_deleted(seeded)]
    while waiting:
        address = waiting.pop(0)
        kind = kind_of(address)
        if kind in kinds:
            continue
        kinds.add(kind)
        found[address] = visit(session, address)
        links = [urlsplit(link) for link in found[address].links]
        ours = [link.path for link in links if f"{link.scheme}://{link.netloc}" == seeded.url]
        waiting += [path for path in ours if not NOT_PAGES.match(path)]
    for address in phases_of(seeded).values():
        found[address] = found.get(address) or visit(session, address)
    return found


def what_can_be_deleted(seeded: Muster) -> list[str]:
    """A department and a node pool that are not the default ones."""
    departments = seeded.request("GET", "/api/v1/org-unit/departments").body["departments"]
    pools = seeded.request("GET", "/api/v1/node-pools").body["nodepools"]
    department = next(each["id"] for each in departments if each["name"] != "default")
    pool = next(each["id"] for each in pools if not each["isDefault"])
    return [f"/departments/{department}/", f"/node-pools/{pool}/"]


def kind_of(address: str) -> str:
    """The address without ids."""
    return ID.sub("/…", urlsplit(address).path)


def visit(session: BrowserContext, address: str) -> Visit:
    """In a tab of its own; narrow as a phone for a moment."""
    tab = session.new_page()
    complaints = _complaints(tab)
    status = open_whole(tab, address)
    links = tab.locator("a[href]:not([download])").evaluate_all(LINKS)
    tab.set_viewport_size({"width": 390, "height": 844})
    overflow = tab.evaluate(OVERFLOW)
    tab.set_viewport_size({"width": 1440, "height": 900})
    heard = list(complaints)  # axe itself makes the browser complain
    violations = violations_in(tab)
    tab.close()
    return Visit(status, links, overflow, heard, violations)


def phases_of(seeded: Muster) -> dict[str, str]:
    """The address of a workload in each phase that there is."""
    listed = seeded.request("GET", "/api/v1/workloads?limit=100").body["workloads"]
    return {workload["phase"]: f"/workloads/{workload['id']}/" for workload in listed}


def test_the_example_has_one_of_everything_that_pages_are_for(seeded: Muster) -> None:
    """Two pools, projects with quota, workloads that run and one that waits; a node outside the topology, a cordoned
    one, one with a sick GPU, one that nobody measures; GPUs that are held and idle."""

    def listed(path: str, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = seeded.request("GET", f"/api/v1/{path}?limit=100").body[key]
        return found

    nodes = listed("nodes", "nodes")
    assert {pool["name"] for pool in listed("node-pools", "nodepools")} == {"default", "training"}
    assert len(listed("org-unit/projects", "projects")) == 4
    wait_until(lambda: len(listed("workloads", "workloads")) == 9, "every workload of the example")
    assert [node["name"] for node in nodes if RACK not in node["labels"]] == ["gpu-b2-3"]
    assert [node["name"] for node in nodes if node["cordoned"]] == ["gpu-b1-3"]
    assert [node["name"] for node in nodes if node["allocatableGpus"] == 7] == ["gpu-a3-2"]
    held = devices_of(seeded, await_ready(seeded, "trial-chat", 3, "sandbox"))
    assert sum(map(len, held.values())) == 2

    def measured() -> bool:
        seen = {node["name"]: utilisation_of(seeded, node["id"]) for node in nodes}
        idle = [seen[node].get(gpu) for node, gpus in held.items() for gpu in gpus]
        return seen["gpu-b2-2"] == {} and idle == [0, 0] and any(any(gpus.values()) for gpus in seen.values())

    wait_until(measured, "GPUs that are held and idle, others that work, and a node that nobody measures", 120)


def open_whole(tab: Page, address: str) -> int | None:
    """The status of a page, once all that it fetches for itself is there."""
    answer = tab.goto(address)
    tab.wait_for_function(IS_WHOLE)
    return answer.status if answer else None


def violations_in(tab: Page, **options: Any) -> list[tuple[str, str]]:
    """What axe finds wrong: rule and element."""
    found = Axe().run(tab, options=ONLY_WHAT_IS_WRONG | options).response["violations"]
    return [(violation["id"], node["html"][:160]) for violation in found for node in violation["nodes"]]


def test_every_page_of_the_url_configuration_is_reached(visits: dict[str, Visit]) -> None:
    """Each that an administrator is answered with 200 by the table of `tests/contracts`, and those of roles of one's
    own, which its cast has none of."""
    answered = {line.partition(":")[0] for line in TABLE.read_text().splitlines() if line.endswith(" 200")}
    pages = [route for route in routes() if f"GET {route.name}" in answered and not route.is_api]
    own = {"/access/roles/…/", "/access/roles/…/delete"}
    kinds = {re.sub(r"<[^>]+>", "…", f"/{route.pattern}") for route in pages} | own

    assert {kind for kind in kinds if not NOT_PAGES.match(kind)} - {kind_of(address) for address in visits} == set()


def test_every_page_is_accessible_fits_and_nothing_complains(visits: dict[str, Visit]) -> None:
    assert {address: visit for address, visit in visits.items() if not visit.is_fine} == {}


LISTS = ("clusters", "departments", "network-topologies", "node-pools", "nodes", "projects", "workloads")


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_exported_whole(session: BrowserContext, seeded: Muster, name: str) -> None:
    answer = session.request.get(f"{seeded.url}/{name}/?format=csv")

    assert answer.status == 200
    rows = list(csv.DictReader(answer.text().removeprefix("\ufeff").splitlines()))
    assert rows
    assert all(row["Name"] for row in rows)


def test_every_page_speaks_chinese_on_a_phone(
    session: BrowserContext, seeded: Muster, visits: dict[str, Visit]
) -> None:
    """In the dark, where contrasts are others."""
    session.add_cookies([{"name": "django_language", "value": "zh-hans", "url": seeded.url}])
    wrong = {}
    for address in visits:
        tab = session.new_page()
        tab.set_viewport_size({"width": 390, "height": 844})
        tab.emulate_media(color_scheme="dark")
        complaints = _complaints(tab)
        open_whole(tab, address)
        spoken = tab.evaluate("document.documentElement.lang")
        overflow = tab.evaluate(OVERFLOW)
        chinese = any("\u4e00" <= character <= "\u9fff" for character in tab.locator("main").inner_text())
        heard = list(complaints)
        violations = violations_in(tab, **OTHERWISE_DRAWN)
        if overflow or heard or violations or spoken != "zh-hans" or not chinese:
            wrong[address] = (overflow, heard, violations, spoken, tab.title())
        tab.close()
    session.clear_cookies(name="django_language")

    assert wrong == {}


def _complaints(tab: Page) -> list[str]:
    """What the console and the content security policy say of the tab, filled while it is open."""
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints
