"""Field report 87: of a person in several groups all are shown, and all take effect."""

from typing import Any

from accounts.models import AccessRule, ScopeType
from accounts.permissions import DEPARTMENT_ADMINISTRATOR, RESEARCHER, has_right
from tests.conftest import make_user


def test_field_report_87_three_groups_with_two_scopes_are_shown_and_take_effect(
    admin: Any, department: Any, project: Any, client_of: Any
) -> None:
    person = make_user("many")
    person.groups = ["ml-leads", "research", "visitors"]
    person.save(update_fields=["groups"])
    for group, role, scope_type, scope in (
        ("ml-leads", DEPARTMENT_ADMINISTRATOR, ScopeType.DEPARTMENT, department),
        ("research", RESEARCHER, ScopeType.PROJECT, project),
    ):
        AccessRule.objects.create(
            group=group, role=role, scope_type=scope_type, scope_id=str(scope.pk), cluster_id=department.cluster_id
        )
    alone = {name: make_user(f"in-{name}") for name in ("ml-leads", "research", "visitors")}
    for name, other in alone.items():
        other.groups = [name]
        other.save(update_fields=["groups"])

    page = client_of(admin).get(f"/access/users/{person.pk}/").content.decode()

    assert "ml-leads, research, visitors" in page
    rights = {
        who: (
            has_right(user, "department:update", department.scope),
            has_right(user, "workloads:create", project.scope),
        )
        for who, user in {"all": person, **alone}.items()
    }
    assert rights["all"] == (True, True)
    assert rights["research"] == (False, True)
    assert rights["visitors"] == (False, False)
