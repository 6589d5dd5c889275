"""Every URL of the product, filled with the ids of the cast's objects: what the contracts are checked on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLResolver, get_resolver

# Answered to everybody: signing in, tokens, monitoring.
PUBLIC = {
    "accounts:login", "accounts:logout", "accounts:provider-start", "accounts:provider-return", "accounts:reset",
    "set_language", "healthz", "readyz", "metrics", "token", "token-v2",
}  # fmt: skip
# The stream lasts as long as it is read, tests/controlplane/test_live.py has its contracts; the schema has a format
# of its own.
STREAMS = {
    "live", "api-schema", "clusters-watch", "network-topologies-watch", "node-pools-watch", "departments-watch",
    "projects-watch", "workloads-watch",
}  # fmt: skip
# What the cast has one of. Other things with an id belong to the whole installation, like roles, or are absent.
COLLECTIONS = {
    "clusters", "nodes", "network-topologies", "node-pools", "departments", "projects", "workloads", "users",
    "service-accounts", "apps", "access-keys", "user-applications", "access-rules", "reports", "credentials",
}  # fmt: skip
_SKIPPED = {"api", "v1", "k8s", "v2", "org-unit", "gpu-utilisation"}


@dataclass(frozen=True)
class Route:
    """One route of the URLconf. `kind` is the collection that its id belongs to; empty without one."""

    name: str
    pattern: str

    @property
    def is_api(self) -> bool:
        return self.pattern.startswith(("api/", "v1/k8s/")) and self.name != "api-docs"

    @property
    def kind(self) -> str:
        if "<" not in self.pattern:
            return ""
        parts = [part for part in self.pattern.split("<")[0].split("/") if part and part not in _SKIPPED]
        known = (part for part in reversed(parts) if part in COLLECTIONS)
        return next(known, parts[0] if parts else self.pattern.split("/")[0])

    def path(self, pk: object = "", **others: object) -> str:
        """The path with `pk` in every place but those that `others` names."""
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda place: str(others.get(place[1], pk)), self.pattern)


def streams() -> list[Route]:
    """The API's streams of objects: whoever reads one must bound it."""
    return [route for route in _walk(get_resolver().url_patterns, "", "") if route.name.endswith("-watch")]


def routes() -> list[Route]:
    """All routes but the streams."""
    return [route for route in _walk(get_resolver().url_patterns, "", "") if route.name not in STREAMS]


def _walk(patterns: Any, prefix: str, namespace: str) -> Iterator[Route]:
    for pattern in patterns:
        where = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, where, f"{pattern.namespace}:" if pattern.namespace else namespace)
        else:
            yield Route(namespace + (pattern.name or where), where)


def with_ids() -> list[Route]:
    return [route for route in routes() if route.kind]


def pk_of(route: Route, cast: Mapping[str, Any]) -> object:
    """The id of the cast's object that the route shows; empty where it shows none."""
    if not route.kind:
        return ""
    # Nodes have Kubernetes' uid as their id in the API.
    if route.is_api and route.kind == "nodes":
        return cast["nodes"].uid
    return cast[route.kind].pk if route.kind in COLLECTIONS else "1"


def path_of(route: Route, cast: Mapping[str, Any]) -> str:
    """The path of the cast's object that the route shows."""
    return route.path(pk_of(route, cast), secret=cast["secrets"].pk)
