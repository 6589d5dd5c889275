"""Pages follow what happens elsewhere, without a reload, with and without the broker."""

import os
import signal

import pytest

from tests.stack.installation import wait_until
from tests.stack.test_up import of_command

pytestmark = pytest.mark.long


def make_department(muster, name):
    (cluster,) = muster.request("GET", "/api/v1/clusters").body
    body = {"name": name, "clusterId": cluster["uuid"], "resources": []}
    made = muster.request("POST", "/api/v1/org-unit/departments", body)
    assert made.status == 201, made.body
    return made.body["id"]


def delete_department(muster, pk):
    muster.request("DELETE", f"/api/v1/org-unit/departments/{pk}")


def test_a_list_shows_what_was_made_elsewhere_without_a_reload(muster, page):
    page.goto("/departments/")
    page.locator("#live").get_by_text("live", exact=True).wait_for()
    page.evaluate("window.notReloaded = true")

    pk = make_department(muster, "made-elsewhere")

    page.get_by_role("link", name="made-elsewhere").wait_for()
    assert page.evaluate("window.notReloaded") is True
    delete_department(muster, pk)
    page.get_by_role("link", name="made-elsewhere").wait_for(state="detached")


@pytest.mark.faults
def test_a_page_says_live_again_after_the_broker_was_gone(muster, page):
    """Trap T4: the page heals itself, nobody has to refresh it."""
    page.goto("/departments/")
    page.locator("#live").get_by_text("live", exact=True).wait_for()

    os.kill(of_command(muster, "valkey-server"), signal.SIGKILL)

    page.locator("#live").get_by_text("updates every 15 s").wait_for()
    page.locator("#live").get_by_text("live", exact=True).wait_for()
    pk = make_department(muster, "after-the-broker")
    page.get_by_role("link", name="after-the-broker").wait_for()
    delete_department(muster, pk)
    wait_until(lambda: not page.get_by_role("link", name="after-the-broker").count(), "the row to go")
