"""What access rules hold on: finds clusters, departments and projects by id, without importing their packages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.utils.translation import gettext as _

from accounts.models import AccessRule, ScopeType, User
from accounts.permissions import Reach, Scope, ScopedQuerySet, reach
from core.errors import InvalidInput, NotFound

# The packages are left of this one: they are known by name only.
MODELS = {
    ScopeType.CLUSTER: "clusters.Cluster",
    ScopeType.DEPARTMENT: "organizations.Department",
    ScopeType.PROJECT: "organizations.Project",
}
TENANT_ID = "1"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a rule holds. `scope_id` is empty for the tenant."""

    scope_type: ScopeType
    scope_id: str
    scope: Scope
    name: str


def find_target(user: User | AnonymousUser, scope_type: str, scope_id: str) -> Target:
    """The scope of this type and id, as far as `user` may see it. Raises `InvalidInput` that names the field."""
    if scope_type not in ScopeType.values:
        message = _("There is no scope type %(name)s") % {"name": repr(scope_type[:40])}
        raise InvalidInput.of("scopeType", message, ", ".join(ScopeType.values))
    kind = ScopeType(scope_type)
    if kind == ScopeType.TENANT:
        if scope_id not in ("", TENANT_ID):  # who names a department and means it must not give a role everywhere
            raise InvalidInput.of("scopeId", _("The whole installation has another id"), TENANT_ID)
        return Target(kind, "", Scope(), _("whole installation"))
    try:
        row = _rows(kind).get_visible(user, pk=scope_id)
    except NotFound as error:
        words = {"kind": kind.label}
        message, allowed = _("There is no such %(kind)s") % words, _("the id of a %(kind)s") % words
        raise InvalidInput.of("scopeId", message, allowed) from error
    scope = Scope(row.pk) if kind == ScopeType.CLUSTER else row.scope
    return Target(kind, str(row.pk), scope, row.name)


def targets_for(user: User, right: str) -> list[Target]:
    """Every scope in which `user` has `right`, widest first. Four queries at most."""
    where = reach(user, right)
    found = [Target(ScopeType.TENANT, "", Scope(), _("whole installation"))] if where.everywhere else []
    for kind in MODELS:
        for row in _rows(kind).visible_to(user).order_by("name"):
            scope = Scope(row.pk) if kind == ScopeType.CLUSTER else row.scope
            if where.covers(scope):
                found.append(Target(kind, str(row.pk), scope, row.name))
    return found


def scope_of(rule: AccessRule) -> Scope:
    """Where a rule's scope lies. One query for a project."""
    if rule.scope_type == ScopeType.TENANT:
        return Scope()
    if rule.scope_type == ScopeType.CLUSTER:
        return Scope(rule.cluster_id)
    if rule.scope_type == ScopeType.DEPARTMENT:
        return Scope(rule.cluster_id, int(rule.scope_id))
    project: Any = _rows(ScopeType.PROJECT).filter(pk=rule.scope_id).first()
    return project.scope if project else Scope(rule.cluster_id)


def visible_rules(user: User | AnonymousUser) -> "models.QuerySet[AccessRule]":
    """The access rules on scopes in which `user` may read them. One query more where they may in parts only."""
    rules = AccessRule.objects.select_related("user", "custom_role")
    where = reach(user, "access_rules:read")
    if where.everywhere:
        return rules
    inside = (
        models.Q(cluster_id__in=where.clusters)
        | models.Q(scope_type=ScopeType.DEPARTMENT, scope_id__in=[str(pk) for pk in where.departments])
        | models.Q(scope_type=ScopeType.PROJECT, scope_id__in=_project_ids(where))
    )
    return rules.filter(inside)


def names_of(rules: Iterable[AccessRule]) -> dict[tuple[str, str], str]:
    """The names of the scopes of `rules`, by type and id. Three queries at most; who may see the rules may see them."""
    wanted: dict[str, set[str]] = {}
    for rule in rules:
        wanted.setdefault(rule.scope_type, set()).add(rule.scope_id)
    names = {(str(ScopeType.TENANT), ""): _("whole installation")}
    for kind, ids in wanted.items():
        if kind != ScopeType.TENANT:
            found = _rows(ScopeType(kind)).filter(pk__in=ids).values_list("pk", "name")
            names |= {(kind, str(pk)): name for pk, name in found}
    return names


def _project_ids(where: Reach) -> list[str]:
    projects = _rows(ScopeType.PROJECT).filter(
        models.Q(department_id__in=where.departments) | models.Q(pk__in=where.projects)
    )
    return [str(pk) for pk in projects.values_list("pk", flat=True)]


def _rows(kind: ScopeType) -> ScopedQuerySet[Any]:
    rows: ScopedQuerySet[Any] = apps.get_model(MODELS[kind])._default_manager.all()
    return rows
