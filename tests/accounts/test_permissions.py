"""Who may do what, where: scopes include what lies below, shared rows are seen from inside a cluster, 404 hides."""

import uuid

import pytest
from django.contrib.auth.models import AnonymousUser

from accounts.models import AccessRule, ScopeType, User
from accounts.permissions import (
    ACTIONS,
    ADMINISTRATOR,
    DEPARTMENT_ADMINISTRATOR,
    RESEARCHER,
    ROLES,
    VIEWER,
    Scope,
    has_right,
    reach,
    require,
)
from core.errors import NotFound, NotPermitted
from organizations.models import Department, Project
from tests.conftest import make_user
from topology.models import NodePool


@pytest.fixture
def other_project(cluster, department):
    other = Department.objects.create(cluster=cluster, name="other")
    return Project.objects.create(cluster=cluster, department=other, name="elsewhere", namespace="runai-elsewhere")


def test_an_administrator_has_every_right_everywhere(admin):
    rights = set().union(*ROLES.values())

    assert all(has_right(admin, right, Scope(uuid.uuid4())) for right in rights)


def test_a_viewer_has_no_right_that_changes_anything():
    assert {right for right in ROLES[VIEWER] if not right.endswith(":read")} == set()


def test_a_researcher_changes_workloads_and_credentials_only():
    changes = {right for right in ROLES[RESEARCHER] if not right.endswith(":read")}

    assert changes == {f"{r}:{a}" for r in ("workloads", "credentials") for a in ACTIONS if a != "read"}


def test_a_department_administrator_changes_nothing_physical():
    physical = ("cluster", "nodes", "nodepools", "network-topologies")
    rights = ROLES[DEPARTMENT_ADMINISTRATOR]

    assert {r for r in rights if r.split(":")[0] in physical and not r.endswith(":read")} == set()
    assert "department:delete" not in rights


def test_a_rule_on_a_department_holds_for_its_projects_and_no_others(department_admin, project, other_project):
    assert has_right(department_admin, "project:update", project.scope)
    assert not has_right(department_admin, "project:update", other_project.scope)
    assert not has_right(department_admin, "project:update", Scope(project.cluster_id))


def test_a_rule_on_a_project_holds_for_it_alone(researcher, project, other_project):
    assert has_right(researcher, "workloads:create", project.scope)
    assert not has_right(researcher, "workloads:create", other_project.scope)
    assert not has_right(researcher, "workloads:create", Scope(project.cluster_id, project.department_id))


def test_a_rule_on_a_cluster_holds_for_everything_in_it(cluster, project):
    user = make_user("local", ADMINISTRATOR, ScopeType.CLUSTER, cluster.pk, cluster)

    assert has_right(user, "workloads:delete", project.scope)
    assert not has_right(user, "workloads:delete", Scope(uuid.uuid4(), project.department_id + 1))


def test_what_is_missing_is_named(researcher, project):
    with pytest.raises(NotPermitted, match=r"^You do not have the right nodepools:create\.$") as caught:
        require(researcher, "nodepools:create", Scope(project.cluster_id))
    assert caught.value.right == "nodepools:create"


def test_people_see_their_projects_and_the_shared_parts_of_their_cluster(
    researcher, outsider, project, other_project, default_pool
):
    assert list(Project.objects.visible_to(researcher)) == [project]
    assert list(Department.objects.visible_to(researcher)) == []
    assert list(NodePool.objects.visible_to(researcher)) == [default_pool]
    assert list(NodePool.objects.visible_to(outsider)) == []
    assert list(Project.objects.visible_to(outsider)) == []


@pytest.mark.parametrize(
    "pk", ["1234567", "x", "", "-1", "1_0", "١", "9" * 40, "1.0", "\x00", "{}", None, uuid.uuid4()]
)
def test_absent_invisible_and_malformed_ids_are_not_found_alike(admin, default_pool, pk):
    with pytest.raises(NotFound, match=r"^Resource id not found\.$"):
        NodePool.objects.get_visible(admin, pk=pk)


def test_an_invisible_row_is_not_found(researcher, other_project):
    with pytest.raises(NotFound):
        Project.objects.get_visible(researcher, pk=other_project.pk)


def test_anonymous_and_disabled_people_have_no_right_at_all(admin):
    admin.is_active = False

    for user in (AnonymousUser(), admin):
        assert reach(user, "cluster:read").is_empty
        assert list(NodePool.objects.visible_to(user)) == []


def test_a_rule_of_a_role_that_is_gone_grants_nothing(db):
    user = make_user("x", "Wizard")

    assert not has_right(user, "cluster:read")


def test_rules_are_read_once_for_a_request(researcher, django_assert_num_queries):
    fresh = User.objects.get(pk=researcher.pk)
    with django_assert_num_queries(1):
        for right in ROLES[RESEARCHER]:
            has_right(fresh, right)


def test_the_database_refuses_a_rule_without_a_scope(db):
    from django.db import IntegrityError, transaction

    user = make_user("x")
    for scope_type, scope_id in ((ScopeType.PROJECT, ""), (ScopeType.TENANT, "7")):
        with pytest.raises(IntegrityError), transaction.atomic():
            AccessRule.objects.create(user=user, role=VIEWER, scope_type=scope_type, scope_id=scope_id)
