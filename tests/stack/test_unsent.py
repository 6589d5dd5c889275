"""What a person typed outlives the switch of the language and the end of the session, for that person alone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.stack.conftest import new_context, sign_in
from tests.stack.installation import EMAIL, PASSWORD, Muster

pytestmark = pytest.mark.long


@pytest.fixture
def tab(muster: Muster, chromium: Browser) -> Iterator[Page]:
    """In a window of its own: its session ends and its language changes."""
    context = new_context(chromium, muster)
    tab = context.new_page()
    sign_in(tab, muster)
    yield tab
    context.close()


def type_department(tab: Page) -> None:
    tab.goto("/departments/new/")
    tab.get_by_label("Name", exact=True).fill("half-typed")
    tab.get_by_label("Description").fill("of the third floor")


def sign_in_again(tab: Page) -> None:
    tab.get_by_label("E-mail").fill(EMAIL)
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()


def test_the_language_is_switched_in_the_middle_of_a_form(tab: Page) -> None:
    type_department(tab)

    tab.get_by_label("Language").click()
    tab.get_by_role("button", name="简体中文").click()

    expect(tab.locator("html[lang=zh-hans] #id_name")).to_have_value("half-typed")
    expect(tab.locator("#id_description")).to_have_value("of the third floor")
    expect(tab.locator("#messages [role=status]")).to_be_visible()
    tab.locator("form[data-stays] button[value=en]").evaluate("button => button.click()")
    expect(tab.locator("html[lang=en] #id_name")).to_have_value("half-typed")
    tab.reload()
    expect(tab.locator("#id_name")).to_have_value("")


def test_the_session_ends_in_the_middle_of_a_form(tab: Page) -> None:
    type_department(tab)
    tab.context.clear_cookies(name="sessionid")

    tab.get_by_role("button", name="Save department").click()
    sign_in_again(tab)

    expect(tab.get_by_text("What you had typed is back.")).to_be_visible()
    expect(tab.locator("#id_name")).to_have_value("half-typed")


def test_the_session_ends_while_the_server_draws_the_form(tab: Page) -> None:
    tab.goto("/network-topologies/new/")
    tab.get_by_label("Name", exact=True).fill("half-typed")
    tab.context.clear_cookies(name="sessionid")

    tab.get_by_label("Name", exact=True).blur()
    sign_in_again(tab)

    tab.wait_for_url("**/network-topologies/new/*")
    expect(tab.get_by_text("What you had typed is back.")).to_be_visible()
    expect(tab.get_by_label("Name", exact=True)).to_have_value("half-typed")


def test_somebody_else_does_not_get_what_was_typed(tab: Page) -> None:
    type_department(tab)
    tab.context.clear_cookies(name="sessionid")
    tab.get_by_role("button", name="Save department").click()
    expect(tab.get_by_label("E-mail")).to_be_visible()
    tab.evaluate("""() => {
      const kept = JSON.parse(sessionStorage.getItem("muster.unsent"));
      sessionStorage.setItem("muster.unsent", JSON.stringify({ ...kept, account: "another" }));
    }""")

    sign_in_again(tab)

    tab.wait_for_url("**/departments/new/")
    tab.wait_for_function("() => sessionStorage.getItem('muster.unsent') === null")
    expect(tab.locator("#id_name")).to_have_value("")


def test_a_form_with_a_password_and_what_was_typed_before_logging_out_are_not_kept(tab: Page) -> None:
    tab.goto("/account/password")
    tab.get_by_label("New password").fill("never stored anywhere")
    tab.locator("form[data-stays] button[value=en]").evaluate("button => button.click()")
    expect(tab.get_by_label("New password")).to_have_value("")
    type_department(tab)
    tab.locator("form[data-leaves] button").evaluate("button => button.click()")
    expect(tab.get_by_label("E-mail")).to_be_visible()

    assert tab.evaluate("sessionStorage.getItem('muster.unsent')") is None
