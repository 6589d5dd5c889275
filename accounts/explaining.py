"""Answers "what may this person do" and "why may they": rights, where they hold, and the rule that gives them."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.models import AccessRule, User
from accounts.permissions import Scope, rights_of, rules_of
from accounts.role_words import RESOURCE_LABELS
from accounts.roles import ACTIONS, RESOURCE_GROUPS, ROLE_LABELS, Text
from accounts.scopes import Target, names_of, scope_of


@dataclass(frozen=True, slots=True)
class Holding:
    """One access rule as it is explained. `group` is the group by which it holds, empty where it is one's own."""

    rule: AccessRule
    role: Text
    scope_name: str
    group: str
    rights: frozenset[str]

    @property
    def pk(self) -> int:
        return self.rule.pk


@dataclass(frozen=True, slots=True)
class Permission:
    """One resource type: by action, the holdings that give it (none: not permitted)."""

    resource: str
    label: Text
    cells: tuple[tuple[str, tuple[Holding, ...]], ...]


def holdings(user: User) -> list[Holding]:
    """The rules that hold for `user`, with the names of their scopes."""
    rules = rules_of(user)
    names = names_of(rules)
    return [
        Holding(
            rule,
            ROLE_LABELS.get(rule.role, rule.role),
            names.get((rule.scope_type, rule.scope_id), ""),
            rule.group,
            rights_of(rule),
        )
        for rule in rules
    ]


def permissions(held: Sequence[Holding]) -> list[Permission]:
    """Every resource type that any of `held` gives a right on, in the order of their groups."""
    found = []
    for resources in RESOURCE_GROUPS.values():
        for resource in resources:
            cells = tuple(
                (action, tuple(each for each in held if f"{resource}:{action}" in each.rights)) for action in ACTIONS
            )
            if any(holding for _action, holding in cells):
                found.append(Permission(resource, RESOURCE_LABELS[resource], cells))
    return found


def why(held: Sequence[Holding], right: str, target: Target) -> list[Holding]:
    """Those of `held` that give `right` in `target`: empty means that the person may not."""
    return [each for each in held if right in each.rights and _covers(each.rule, target.scope)]


def _covers(rule: AccessRule, scope: Scope) -> bool:
    """Whether an object in `scope` lies below the rule's scope."""
    where = scope_of(rule)
    if where.project_id is not None:
        return scope.project_id == where.project_id
    if where.department_id is not None:
        return scope.department_id == where.department_id
    return where.cluster_id is None or scope.cluster_id == where.cluster_id
