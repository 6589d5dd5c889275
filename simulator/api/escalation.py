"""RBAC's guard against escalation: who writes a role must hold all that it grants, or may `escalate`; who binds one
must hold all that it grants, or may `bind` it (Kubernetes, plugin/pkg/registry/rbac/validation)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from simulator.api.errors import forbidden
from simulator.api.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SUPERUSERS,
    Attributes,
    allows,
    role_rules,
    rules_of,
)
from simulator.api.requests import User
from simulator.api.resources import Resource
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

_Right = tuple[str, str, str, str, str]  # group, resource, resource name, path, verb; "" where it has none


def check_escalation(server: "Server", resource: Resource, new: Object, old: Object | None, user: User) -> None:
    """Raises the 403 in kube's words where the write would grant what `user` does not hold. Other kinds pass."""
    if SUPERUSERS in user.groups or resource.storage not in _GRANTED:
        return
    part, verb = _GRANTED[resource.storage]
    if old is not None and all(new.get(key) == old.get(key) for key in part):
        return
    namespace = new["metadata"].get("namespace", "")
    rules = (new.get("rules") or []) if part == ("rules",) else role_rules(server.store, new, namespace)
    group, plural, name = _target(resource, new, verb)
    if allows(server.store, user, Attributes(verb, group, plural, "", namespace, name)):
        return
    missing = _missing(rules, [rule for _reason, rule in rules_of(server.store, user, namespace)])
    if missing:
        groups = " ".join(json.dumps(each) for each in user.groups)
        who = f"user {json.dumps(user.name)} (groups=[{groups}])"
        why = f"{who} is attempting to grant RBAC permissions not currently held:"
        kind = resource.kind
        raise forbidden(kind.group, kind.plural, new["metadata"]["name"], "\n".join([why, *missing]))


_GRANTED = {
    ROLES: (("rules",), "escalate"),
    CLUSTER_ROLES: (("rules",), "escalate"),
    ROLE_BINDINGS: (("roleRef", "subjects"), "bind"),
    CLUSTER_ROLE_BINDINGS: (("roleRef", "subjects"), "bind"),
}


def _target(resource: Resource, new: Object, verb: str) -> tuple[str, str, str]:
    """What the verb is asked on: the role that is written, or the one that is bound."""
    group = resource.storage[0]
    if verb == "escalate":
        return group, resource.storage[1], new["metadata"]["name"]
    reference = new.get("roleRef") or {}
    plural = "roles" if reference.get("kind") == "Role" else "clusterroles"
    return group, plural, str(reference.get("name", ""))


def _missing(wanted: Sequence[Object], held: Sequence[Object]) -> list[str]:
    """The rights that nothing held covers, compacted: one line for each group and resource, sorted."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for right in _rights(wanted):
        if not any(_covers(rule, right) for rule in held):
            verbs = found.setdefault(right[:4], [])
            verbs += [right[4]] if right[4] not in verbs else []
    return sorted(_told(about, verbs) for about, verbs in found.items())


def _rights(rules: Iterable[Object]) -> Iterator[_Right]:
    for rule in rules:
        for verb in rule.get("verbs") or ():
            for path in rule.get("nonResourceURLs") or ():
                yield "", "", "", path, verb
            for group in rule.get("apiGroups") or ():
                for resource in rule.get("resources") or ():
                    for name in rule.get("resourceNames") or ("",):
                        yield group, resource, name, "", verb


def _covers(rule: Object, right: _Right) -> bool:
    group, resource, name, path, verb = right
    if not _has(rule.get("verbs"), verb):
        return False
    if path:
        return any(
            each in ("*", path) or (each.endswith("*") and path.startswith(each[:-1]))
            for each in rule.get("nonResourceURLs") or ()
        )
    names = rule.get("resourceNames") or ()
    _plural, slash, subresource = resource.partition("/")
    allowed = rule.get("resources") or ()
    has_resource = _has(allowed, resource) or (bool(slash) and f"*/{subresource}" in allowed)
    return _has(rule.get("apiGroups"), group) and has_resource and (not names or name in names)


def _has(allowed: Sequence[str] | None, value: str) -> bool:
    return allowed is not None and ("*" in allowed or value in allowed)


def _told(about: tuple[str, str, str, str], verbs: Sequence[str]) -> str:
    """A rule as Go prints it, parts that are empty left out."""
    group, resource, name, path = about
    parts = [f"NonResourceURLs:[{json.dumps(path)}]"] if path else [f"APIGroups:[{json.dumps(group)}]"]
    parts += [f"Resources:[{json.dumps(resource)}]"] if resource else []
    parts += [f"ResourceNames:[{json.dumps(name)}]"] if name else []
    return "{" + ", ".join([*parts, f"Verbs:[{' '.join(json.dumps(verb) for verb in verbs)}]"]) + "}"
