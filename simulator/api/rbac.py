"""RBAC: who may do what, from Role, ClusterRole and their bindings in the store."""

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.api.errors import ApiError, forbidden
from simulator.api.requests import User
from simulator.api.store import CollectionName, Store
from simulator.client import Object

_GROUP = "rbac.authorization.k8s.io"
ROLES: CollectionName = (_GROUP, "roles")
ROLE_BINDINGS: CollectionName = (_GROUP, "rolebindings")
CLUSTER_ROLES: CollectionName = (_GROUP, "clusterroles")
CLUSTER_ROLE_BINDINGS: CollectionName = (_GROUP, "clusterrolebindings")
SUPERUSERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for: a resource (`plural`, perhaps with `subresource`) or a non-resource `path`."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def resource(self) -> str:
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def allows(store: Store, user: User, wanted: Attributes) -> str:
    """The reason why it is allowed, "" when it is not."""
    if SUPERUSERS in user.groups:
        return f"member of {SUPERUSERS}"
    for reason, rule in rules_of(store, user, wanted.namespace):
        if _rule_allows(rule, wanted):
            return reason
    return ""


def require(store: Store, user: User, wanted: Attributes) -> None:
    """Raises the 403 in kube's words."""
    if not allows(store, user, wanted):
        raise denied(user, wanted)


def denied(user: User, wanted: Attributes) -> ApiError:
    if wanted.path:
        why = f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
        return ApiError(403, "Forbidden", f"forbidden: {why}")
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {wanted.verb} resource "{wanted.resource}" in API group "{wanted.group}" {scope}'
    return forbidden(wanted.group, wanted.plural, wanted.name, why)


def rules_of(store: Store, user: User, namespace: str) -> Iterator[tuple[str, Object]]:
    """Every rule that applies to a user in a namespace ("": cluster-wide ones only), with its reason."""
    for entry in store.collection(CLUSTER_ROLE_BINDINGS).entries.values():
        if _names(entry.object, user, ""):
            reason = f'RBAC: allowed by ClusterRoleBinding "{entry.key[1]}"'
            for rule in role_rules(store, entry.object, ""):
                yield reason, rule
    if not namespace:
        return
    bindings = store.collection(ROLE_BINDINGS)
    for key in bindings.keys(namespace):
        binding = bindings.entries[key].object
        if _names(binding, user, namespace):
            reason = f'RBAC: allowed by RoleBinding "{key[1]}/{namespace}"'
            for rule in role_rules(store, binding, namespace):
                yield reason, rule


def role_rules(store: Store, binding: Object, namespace: str) -> list[Object]:
    reference = binding.get("roleRef") or {}
    name = reference.get("name", "")
    if reference.get("kind") == "Role":
        found = store.collection(ROLES).entries.get((namespace, name))
    else:
        found = store.collection(CLUSTER_ROLES).entries.get(("", name))
    return list((found.object.get("rules") or []) if found else [])


def _names(binding: Object, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or []:
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        place = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"system:serviceaccount:{place}:{name}":
            return True
    return False


def _rule_allows(rule: Object, wanted: Attributes) -> bool:
    if not _has(rule.get("verbs"), wanted.verb):
        return False
    if wanted.path:
        paths = rule.get("nonResourceURLs") or []
        return any(path in ("*", wanted.path) or _prefix(path, wanted.path) for path in paths)
    names = rule.get("resourceNames") or []
    return (
        _has(rule.get("apiGroups"), wanted.group)
        and _has_resource(rule.get("resources") or [], wanted)
        and (not names or wanted.name in names)
    )


def _has(allowed: list[str] | None, value: str) -> bool:
    return allowed is not None and ("*" in allowed or value in allowed)


def _has_resource(allowed: list[str], wanted: Attributes) -> bool:
    if "*" in allowed or wanted.resource in allowed:
        return True
    return bool(wanted.subresource) and f"*/{wanted.subresource}" in allowed


def _prefix(pattern: str, path: str) -> bool:
    return pattern.endswith("*") and path.startswith(pattern[:-1])
