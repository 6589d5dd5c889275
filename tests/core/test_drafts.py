"""Forms that their own answer replaces: an answer that is older than what somebody chose sets nothing back."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.core.browser import ORIGIN, ROOT, serve

LEVELS = ("", "zone", "rack")
# The same way of asking in every page that has such a form; the attributes are those of the pages.
FORMS = {
    "submit": "workloads/templates/workloads/new.html",
    "edit": "workloads/templates/workloads/edit.html",
    "topology": "topology/templates/topology/topology_new.html",
    "what-if": "organizations/templates/organizations/_fair_share_what_if.html",
}


def attributes_of(template: str) -> str:
    """The trigger, the queueing and the swap of the form in a template; the address and target are the test's."""
    (form,) = re.findall(r"<form [^\n]*hx-swap=[^\n]*?>", Path(ROOT, template).read_text())
    return " ".join(re.findall(r'hx-(?:trigger|sync|swap)="[^"{]*"', form))


def drawn(attributes: str, said: dict[str, str]) -> str:
    """The form as the server draws it for what was sent."""

    def choice(name: str, values: tuple[str, ...]) -> str:
        marked = (f'<option value="{v}"{" selected" if said.get(name, "") == v else ""}>{v or "–"}' for v in values)
        return f'<label>{name}<select id="of-{name}" name="{name}">{"".join(marked)}</select></label>'

    name = f'<label>name<input id="of-name" name="name" value="{said.get("name", "")}"></label>'
    fields = choice("project", ("one", "two")) + choice("required", LEVELS) + name
    return (
        f'<form id="draft" hx-get="/draft" {attributes} hx-target="#draft" hx-select="#draft">{fields}'
        f"<output>{said.get('project', '')}/{said.get('required', '')}</output></form>"
    )


@dataclass
class Server:
    """Answers only when it is told to; `waiting` holds what was asked."""

    page: Page
    attributes: str
    waiting: list[Route] = field(default_factory=list)

    def answer(self) -> None:
        """Answers the oldest request, once there is one."""
        deadline = time.monotonic() + 10
        while not self.waiting and time.monotonic() < deadline:
            self.page.evaluate("new Promise(requestAnimationFrame)")  # requests arrive while the browser is talked to
        route = self.waiting.pop(0)
        query = parse_qs(urlsplit(route.request.url).query)
        said = {name: values[0] for name, values in query.items()}
        route.fulfill(status=200, content_type="text/html", body=drawn(self.attributes, said))


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def draft(request: pytest.FixtureRequest, chromium: Browser, pages: dict[str, str]) -> Iterator[Server]:
    attributes = attributes_of(request.param)
    form = drawn(attributes, {"project": "one"})
    gallery = re.sub(r'(<main id="main"[^>]*>).*</main>', rf"\1{form}</main>", pages["/gallery"], flags=re.DOTALL)
    with chromium.new_context() as session:
        page = session.new_page()
        complaints = serve(page, {"/gallery": gallery})
        server = Server(page, attributes)
        page.route(re.compile(r"/draft\?"), lambda route: server.waiting.append(route))  # noqa: PLW0108 - playwright marks it
        page.goto(f"{ORIGIN}/gallery")
        yield server
        assert complaints == []


def test_an_older_answer_leaves_what_was_chosen_since(draft: Server) -> None:
    page = draft.page
    with page.expect_request("**/draft?*"):
        page.locator("#of-project").select_option("two")
    page.locator("#of-required").select_option("rack")
    page.locator("#of-name").focus()
    draft.answer()

    draft.answer()
    expect(page.locator("output")).to_have_text("two/rack")
    expect(page.locator("#of-required")).to_have_value("rack")
    expect(page.locator("#of-project")).to_have_value("two")


def test_what_is_typed_and_left_unchanged_is_asked_for_once_the_older_answer_is_dropped(draft: Server) -> None:
    page = draft.page
    with page.expect_request("**/draft?*"):
        page.locator("#of-project").select_option("two")
    page.locator("#of-name").type("trai")
    draft.answer()

    draft.answer()
    expect(page.locator("output")).to_have_text("two/")
    expect(page.locator("#of-name")).to_have_value("trai")
