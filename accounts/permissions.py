"""Who may do what, where: the one permission table and the one way to ask it.

A right is `resource:action`, with Run:ai's resource types and actions (runai.md §6). A role is a set of rights, an
access rule gives a role to a user, service account or group on a scope, which includes everything below it.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import models

from accounts.models import AccessRule, ScopeType, User, UserKind
from accounts.roles import ACTIONS, ADMINISTRATOR, DEPARTMENT_ADMINISTRATOR, RESEARCHER, ROLE_LABELS, ROLES, VIEWER
from core.errors import NotFound, NotPermitted
from core.rights_asked import note

__all__ = (
    "ACTIONS", "ADMINISTRATOR", "DEPARTMENT_ADMINISTRATOR", "RESEARCHER", "ROLES", "ROLE_LABELS", "TENANT", "VIEWER",
    "Reach", "Scope", "ScopedQuerySet", "has_right", "reach", "require", "require_again", "rights_given", "rights_of",
    "rules_given", "rules_of",
)  # fmt: skip


class Scope(NamedTuple):
    """Where an object lies: its cluster, and the department and project below which it stands, if any."""

    cluster_id: uuid.UUID | None = None
    department_id: int | None = None
    project_id: int | None = None


# Of people, service accounts, keys, roles and settings there is one set for all: rights to them count there only.
TENANT = Scope()


@dataclass(frozen=True, slots=True)
class Reach:
    """Where one right holds for one user. `touched_clusters`: clusters in which any scope with the right lies."""

    everywhere: bool
    clusters: frozenset[uuid.UUID]
    departments: frozenset[int]
    projects: frozenset[int]
    touched_clusters: frozenset[uuid.UUID]

    def covers(self, scope: Scope) -> bool:
        """Whether an object in `scope` is inside."""
        return (
            self.everywhere
            or scope.cluster_id in self.clusters
            or scope.department_id in self.departments
            or scope.project_id in self.projects
        )

    def touches(self, cluster_id: str) -> bool:
        """Whether any scope inside lies in this cluster."""
        return self.everywhere or cluster_id in map(str, self.clusters | self.touched_clusters)

    @property
    def is_empty(self) -> bool:
        """Whether the right holds nowhere."""
        return not (self.everywhere or self.clusters or self.departments or self.projects)


def reach(user: User | AnonymousUser, right: str) -> Reach:
    """Where `user` has `right`. One query per user object; the rules are kept on it for its (request's) life."""
    rules = [rule for rule in rules_of(user) if right in rights_of(rule)]
    by_type: dict[str, list[AccessRule]] = {}
    for rule in rules:
        by_type.setdefault(rule.scope_type, []).append(rule)
    return Reach(
        everywhere=ScopeType.TENANT in by_type,
        clusters=frozenset(uuid.UUID(rule.scope_id) for rule in by_type.get(ScopeType.CLUSTER, ())),
        departments=frozenset(int(rule.scope_id) for rule in by_type.get(ScopeType.DEPARTMENT, ())),
        projects=frozenset(int(rule.scope_id) for rule in by_type.get(ScopeType.PROJECT, ())),
        touched_clusters=frozenset(rule.cluster_id for rule in rules if rule.cluster_id is not None),
    )


def rules_of(user: User | AnonymousUser) -> list[AccessRule]:
    """The access rules that hold for `user`, those of their groups included. One query per user object."""
    if not isinstance(user, User) or not user.is_active:
        return []
    cached: list[AccessRule] | None = user.__dict__.get("_cached_access_rules")
    if cached is None:
        cached = user.__dict__["_cached_access_rules"] = rules_given(user)
    return cached


def rules_given(user: User) -> list[AccessRule]:
    """The access rules of `user`, those of a disabled one included: they hold again with the account. One query."""
    theirs = models.Q(user=user)
    if user.groups and user.kind == UserKind.PERSON:
        theirs |= models.Q(user=None, group__in=user.groups)
    return list(AccessRule.objects.filter(theirs).select_related("custom_role").order_by("pk"))


def rights_of(rule: AccessRule) -> frozenset[str]:
    """The rights that a rule's role holds; none where the role is unknown or switched off."""
    is_off = rule.custom_role is not None and not rule.custom_role.enabled
    return frozenset() if is_off else rights_given(rule)


def rights_given(rule: AccessRule) -> frozenset[str]:
    """The rights of a rule's role, also of one that is switched off: they hold again with the role."""
    return ROLES.get(rule.role, frozenset()) if rule.custom_role is None else frozenset(rule.custom_role.rights)


def has_right(user: User | AnonymousUser, right: str, scope: Scope | None = None) -> bool:
    """Whether `user` has `right` in `scope`; without a scope, whether they have it anywhere."""
    where = reach(user, right)
    return not where.is_empty if scope is None else where.covers(scope)


def require(user: User | AnonymousUser, right: str, scope: Scope | None = None) -> None:
    """Raise `NotPermitted`, which names the right, unless `has_right`."""
    if not has_right(user, right, scope):
        raise NotPermitted(right)
    note(right, None if scope is None else [scope.cluster_id and str(scope.cluster_id), *scope[1:]])


def require_again(user: User | AnonymousUser, right: str, scope: Sequence[Any] | None) -> None:
    """`require` of what was noted for an answer that is given again; see `core.rights_asked`."""
    if scope is None:
        return require(user, right)
    cluster, department, project = scope
    return require(user, right, Scope(cluster and uuid.UUID(cluster), department, project))


def _is_id(text: str) -> bool:
    """Whether `text` can be an id at all. int() and UUID() also take digits of other scripts, signs and braces."""
    return text.isascii() and text.replace("-", "").isalnum() and not text.startswith("-") and len(text) <= 36


Model = TypeVar("Model", bound=models.Model)


class ScopedQuerySet(models.QuerySet[Model]):
    """Rows filtered by what a user may see. Subclasses name the right to read and the ORM paths of the scope.

    `shared` rows (nodes, node pools, topologies) can be read by everybody who has the right somewhere in their
    cluster: a researcher of one project must see where their workload may land.
    """

    right = ""
    cluster_path = "cluster_id"
    department_path = ""
    project_path = ""
    shared = False

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Only the rows that `user` may read."""
        where = reach(user, self.right)
        if where.everywhere:
            return self
        inside = models.Q(**{f"{self.cluster_path}__in": where.clusters})
        if self.department_path:
            inside |= models.Q(**{f"{self.department_path}__in": where.departments})
        if self.project_path:
            inside |= models.Q(**{f"{self.project_path}__in": where.projects})
        if self.shared:
            inside |= models.Q(**{f"{self.cluster_path}__in": where.touched_clusters})
        return self.filter(inside)

    def get_visible(self, user: User | AnonymousUser, **lookup: Any) -> Model:
        """The one row, or `NotFound` alike for absent, invisible and malformed ids."""
        pk = lookup.get("pk")
        if isinstance(pk, str) and not _is_id(pk):
            raise NotFound
        try:
            return self.visible_to(user).get(**lookup)
        except (ObjectDoesNotExist, ValidationError, ValueError, OverflowError) as error:
            raise NotFound from error
