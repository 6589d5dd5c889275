"""Every form that somebody else's save made stale shows beside each field that differs what is stored now, by whom."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Role, User
from accounts.permissions import ADMINISTRATOR
from organizations.quota_rows import ensure_quota_rows
from tests.conftest import make_user, make_user_with
from tests.core.text_of import stored_notes
from tests.workloads.test_edit_forms import fields_of
from topology.models import NetworkTopology


@pytest.fixture
def mine(admin: User, client_of: Any) -> Client:
    return client_of(admin)


@pytest.fixture
def theirs(db: None, client_of: Any) -> Client:
    return client_of(make_user("other", ADMINISTRATOR))


def saved_by_both(mine: Client, theirs: Client, url: str, my: dict[str, str], their: dict[str, str]) -> Any:
    """I open the form; they open, change and save it; I save mine: the answer that I get."""
    opened = fields_of(mine.get(url))
    assert theirs.post(url, {**fields_of(theirs.get(url)), **their, "confirmed": "1"}).status_code == 302
    answer = mine.post(url, {**opened, **my})
    assert answer.status_code == 422
    assert "changed by somebody else" in answer.content.decode()
    return answer


@pytest.mark.parametrize("kind", ["project", "department"])
def test_a_project_or_department_shows_their_description_and_amounts(
    kind: str, mine: Client, theirs: Client, project: Any, default_pool: Any
) -> None:
    row = project if kind == "project" else project.department
    ensure_quota_rows(row)
    url, pool = reverse(f"organizations:{kind}-edit", args=[row.pk]), default_pool.pk
    their = {"description": "theirs", f"{pool}-gpu_limit": "40", f"{pool}-priority": "7"}

    notes = stored_notes(saved_by_both(mine, theirs, url, {"description": "mine", f"{pool}-cpu_limit": "-1"}, their))

    assert notes == [
        "Stored now: theirs · other@example.org · when",
        "Stored now: 40 · other@example.org · when",
        "Stored now: 7 · other@example.org · when",
    ]


def test_a_node_pool_shows_their_topology_by_name(
    mine: Client, theirs: Client, h200: Any, topology: NetworkTopology
) -> None:
    url = reverse("topology:node-pool-edit", args=[h200.pk])
    their = {"network_topology": str(topology.pk), "min_guaranteed_runtime": "2h"}

    notes = stored_notes(saved_by_both(mine, theirs, url, {"min_guaranteed_runtime": "1h"}, their))

    assert notes == [
        "Stored now: topology-1 · other@example.org · when",
        "Stored now: 2h0m0s · other@example.org · when",
    ]


def test_distances_show_the_figure_of_each_level_that_differs(
    mine: Client, theirs: Client, topology: NetworkTopology
) -> None:
    url = reverse("topology:topology-links", args=[topology.pk])
    seven = {f"{kind}-{i}": "7" for i in range(3) for kind in ("latency", "bandwidth")}

    notes = stored_notes(saved_by_both(mine, theirs, url, {**seven, "latency-1": "9"}, seven))

    assert notes == ["Stored now: 7 · other@example.org · when"]


def test_a_workload_shows_the_lines_that_differ(mine: Client, theirs: Client, submit: Any) -> None:
    workload = submit()
    url = reverse("workloads:edit", args=[workload.pk])
    more = {"source": workload.source + "# theirs\n", "action": "save"}

    answer = saved_by_both(mine, theirs, url, {"source": workload.source + "# mine\n", "action": "save"}, more)

    (note,) = stored_notes(answer)
    assert note.startswith("Stored now: other@example.org · when")
    assert note.endswith("-# mine +# theirs")


def test_a_role_shows_their_name_and_each_right_that_differs(mine: Client, theirs: Client) -> None:
    role = Role.objects.create(name="Readers", rights=["project:read"])
    url = reverse("accounts:role-edit", args=[role.pk])
    opened = {"updated": mine.get(url).context["updated"], "enabled": "on"}
    theirs.post(url, {**opened, "name": "Lookers", "right": ["department:read", "project:read"]})

    answer = mine.post(url, {**opened, "name": "Readers", "right": ["project:read", "nodepools:read"]})

    assert (answer.status_code, "changed by somebody else" in answer.content.decode()) == (422, True)
    assert [note.partition(" ·")[0] for note in stored_notes(answer)] == [
        "Stored now: Lookers",
        "Stored now: yes",
        "Stored now: no",
    ]
    assert Role.objects.get().name == "Lookers"


def test_who_wrote_it_is_not_told_to_whom_the_audit_log_is_closed(
    theirs: Client, project: Any, client_of: Any, default_pool: Any
) -> None:
    ensure_quota_rows(project)
    client = client_of(make_user_with("writer", "project:read", "project:update"))
    url = reverse("organizations:project-edit", args=[project.pk])

    notes = stored_notes(saved_by_both(client, theirs, url, {"description": "mine"}, {"description": "theirs"}))

    assert notes == ["Stored now: theirs"]
    assert AuditEntry.objects.filter(after__description="theirs").exists()


def test_nobody_is_told_of_a_change_that_says_the_same(
    mine: Client, theirs: Client, project: Any, default_pool: Any
) -> None:
    ensure_quota_rows(project)
    url = reverse("organizations:project-edit", args=[project.pk])
    same = {"description": "same"}
    opened = fields_of(mine.get(url))
    theirs.post(url, {**fields_of(theirs.get(url)), **same})

    assert mine.post(url, {**opened, **same}).status_code == 302
