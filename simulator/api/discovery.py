"""Discovery: which groups, versions and resources are served, in the old format and in the aggregated one."""

import base64
import hashlib

from starlette.requests import Request
from starlette.responses import Response

from simulator.api.http import json_response, page_not_found
from simulator.api.resources import REVIEW_VERBS, Resource
from simulator.api.server import Server
from simulator.client import Object

_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Response kind of subresources that answer with another kind than their resource's.
_OTHER_KINDS: dict[str, tuple[str, str, str]] = {
    "scale": ("autoscaling", "v1", "Scale"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "proxy": ("", "", "{kind}ProxyOptions"),
}
_SUBRESOURCE_VERBS: dict[str, list[str]] = {
    "status": ["get", "patch", "update"],
    "scale": ["get", "patch", "update"],
    "log": ["get"],
    "binding": ["create"],
    "eviction": ["create"],
    "token": ["create"],
    "finalize": ["update"],
    "proxy": ["create", "delete", "get", "patch", "update"],
    "ephemeralcontainers": ["get", "patch", "update"],
}


def answer(server: Server, request: Request) -> Response:
    """Answer `/api`, `/apis` and what lies directly below; 404 in plain text for the rest. Raises 403."""
    server.authorize_path(request.scope["user"], request.method, request.url.path)
    parts = [part for part in request.url.path.split("/") if part]
    aggregated = "as=APIGroupDiscoveryList" in request.headers.get("accept", "")
    if parts == ["api"]:
        return _aggregated(server, [""]) if aggregated else json_response(_core_versions(request))
    if parts == ["apis"]:
        groups = sorted(group for group in _served(server) if group)
        return _aggregated(server, groups) if aggregated else json_response(_groups(server, groups))
    return _below(server, parts)


def _served(server: Server) -> dict[str, list[str]]:
    """Served versions by group, without those that a fault hides."""
    hidden = server.faults.active
    served = {
        group: [one for one in versions if hidden("version-not-served", group=group, version=one) is None]
        for group, versions in server.registry.groups().items()
    }
    return {group: versions for group, versions in served.items() if versions}


def _subresources(resource: Resource) -> list[str]:
    return sorted(resource.subresources, reverse=resource.custom)  # status before scale


def _below(server: Server, parts: list[str]) -> Response:
    known = _served(server)
    if len(parts) == 2 and parts[0] == "api" and parts[1] in known.get("", []):
        return json_response(_resources(server, "", parts[1]))
    if len(parts) == 2 and parts[0] == "apis" and parts[1] in known:
        return json_response({"kind": "APIGroup", "apiVersion": "v1", **_group(server, parts[1])})
    if len(parts) == 3 and parts[0] == "apis" and parts[2] in known.get(parts[1], []):
        return json_response(_resources(server, parts[1], parts[2]))
    if not parts:
        return json_response({"paths": _paths(known)})
    return page_not_found()


def _paths(known: dict[str, list[str]]) -> list[str]:
    paths = ["/api", "/api/v1", "/apis"]
    for group, versions in sorted(known.items()):
        if group:
            paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
    return [*paths, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]


def _core_versions(request: Request) -> Object:
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": request.url.netloc}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}


def _groups(server: Server, groups: list[str]) -> Object:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(server, group) for group in groups]}


def _group(server: Server, group: str) -> Object:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in _served(server)[group]]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(server: Server, group: str, version: str) -> Object:
    listed: list[Object] = []
    for resource in _sorted(server.registry.in_version(group, version)):
        listed.append(_resource(server, resource))
        listed += [_subresource(resource, name) for name in _subresources(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": listed,
    }


def _resource(server: Server, resource: Resource) -> Object:
    kind = resource.kind
    entry: Object = {
        "name": kind.plural,
        "singularName": resource.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(_CUSTOM_VERBS if resource.custom else resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.verbs != REVIEW_VERBS:
        stored = server.stored_resource(resource).kind
        name = f"{stored.group}/{stored.version}/{stored.kind}".encode()
        entry["storageVersionHash"] = base64.b64encode(hashlib.sha256(name).digest()[:8]).decode()
    return entry


def _subresource(resource: Resource, name: str) -> Object:
    group, version, kind = _answer_kind(resource, name)
    entry: Object = {
        "name": f"{resource.kind.plural}/{name}",
        "singularName": "",
        "namespaced": resource.kind.namespaced,
        "kind": kind,
        "verbs": _SUBRESOURCE_VERBS[name],
    }
    if (group, version) != (resource.kind.group, resource.kind.version):
        entry.update(group=group, version=version)
    return entry


def _answer_kind(resource: Resource, name: str) -> tuple[str, str, str]:
    own = resource.kind
    group, version, kind = _OTHER_KINDS.get(name, (own.group, own.version, own.kind))
    if name == "proxy":
        return own.group, own.version, kind.replace("{kind}", own.kind)
    return group, version, kind


def _aggregated(server: Server, groups: list[str]) -> Response:
    items = []
    for group in groups:
        versions = [
            {
                "version": version,
                "freshness": "Current",
                "resources": [_discovered(one) for one in _sorted(server.registry.in_version(group, version))],
            }
            for version in _served(server).get(group, [])
        ]
        metadata: Object = {"creationTimestamp": None}
        if group:
            metadata["name"] = group
        items.append({"metadata": metadata, "versions": versions})
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }
    response = json_response(body)
    response.headers["content-type"] = AGGREGATED
    response.headers["vary"] = "Accept"
    return response


def _discovered(resource: Resource) -> Object:
    kind = resource.kind
    entry: Object = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [_discovered_part(resource, name) for name in sorted(resource.subresources)]
    return entry


def _discovered_part(resource: Resource, name: str) -> Object:
    group, version, kind = _answer_kind(resource, name)
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": _SUBRESOURCE_VERBS[name],
    }


def _sorted(resources: list[Resource]) -> list[Resource]:

    return sorted(resources, key=lambda resource: resource.kind.plural)
