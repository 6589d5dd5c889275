"""The browser's back and forward: nothing is done twice, nothing that somebody chose is lost, nothing is left open."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.stack.conftest import Console
from tests.stack.installation import Muster

pytestmark = pytest.mark.long


def departments(muster: Muster, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = muster.request("GET", f"/api/v1/org-unit/departments?filterBy=name=={name}").body[
        "departments"
    ]
    return found


def fill_in(page: Page, name: str) -> None:
    page.goto("/departments/new/")
    page.get_by_label("Name", exact=True).fill(name)


def test_back_to_a_form_that_was_sent_and_forward_again_sends_nothing(muster: Muster, page: Page) -> None:
    fill_in(page, "sent-once")
    page.get_by_role("button", name="Save department").click()
    expect(page.get_by_role("heading", name="sent-once")).to_be_visible()

    page.go_back()
    expect(page.get_by_role("heading", name="New department")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="sent-once")).to_be_visible()
    assert len(departments(muster, "sent-once")) == 1


def test_a_second_sending_of_a_form_after_back_is_refused(muster: Muster, page: Page, console: Console) -> None:
    fill_in(page, "sent-again")
    page.get_by_role("button", name="Save department").click()
    expect(page.get_by_role("heading", name="sent-again")).to_be_visible()
    [made] = departments(muster, "sent-again")

    page.go_back()
    expect(page.get_by_role("heading", name="New department")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("sent-again")
    page.get_by_role("button", name="Save department").click()

    expect(page.get_by_role("alert")).to_contain_text("Not saved: Resource with this name already exists")
    console.foretell_refusal(page.url)
    expect(page.get_by_label("Name", exact=True)).to_have_value("sent-again")
    assert departments(muster, "sent-again") == [made]


def test_a_form_whose_button_is_pressed_twice_is_sent_once(muster: Muster, page: Page) -> None:
    fill_in(page, "pressed-twice")
    page.get_by_role("button", name="Save department").dblclick()

    expect(page.get_by_role("heading", name="pressed-twice")).to_be_visible()
    assert len(departments(muster, "pressed-twice")) == 1


def test_a_list_is_found_again_as_it_was_left(page: Page) -> None:
    page.goto("/nodes/")
    rows = page.locator("table[data-rows] tbody tr[id]")
    expect(rows).to_have_count(18)
    page.get_by_label("Search this list").fill("gpu-a1")
    expect(rows).to_have_count(3)
    page.get_by_role("columnheader", name=re.compile("^Name")).get_by_role("link").click()
    page.wait_for_url(re.compile(r"q=gpu-a1.*sort=|sort=.*q=gpu-a1"))
    left, order = page.url, rows.evaluate_all("rows => rows.map((row) => row.id)")

    rows.first.get_by_role("link").first.click()
    page.wait_for_url(lambda url: url != left)
    page.go_back()

    expect(rows).to_have_count(3)
    assert page.url == left
    assert rows.evaluate_all("rows => rows.map((row) => row.id)") == order
    expect(page.get_by_label("Search this list")).to_have_value("gpu-a1")


def test_a_dialog_that_is_left_by_going_back_has_done_nothing_and_is_closed(muster: Muster, page: Page) -> None:
    (cluster,) = muster.request("GET", "/api/v1/clusters").body
    made = muster.request("POST", "/api/v1/org-unit/departments", {"name": "stays", "clusterId": cluster["uuid"]})
    assert made.status == 201, made.body
    page.goto("/departments/")
    page.goto(f"/departments/{made.body['id']}/")
    page.locator("summary[aria-label='More actions']").click()
    page.get_by_role("link", name=re.compile("^Delete")).click()
    page.get_by_label(re.compile("to confirm")).fill("stays")

    page.go_back()
    expect(page.get_by_role("heading", level=1, name=re.compile("^Departments"))).to_be_visible()
    page.go_forward()

    expect(page.get_by_role("heading", name="stays")).to_be_visible()
    expect(page.locator("#dialog")).to_be_hidden()
    assert [each["name"] for each in departments(muster, "stays")] == ["stays"]
