"""The Dynamo operator's admission of graphs: the rules whose breach harms (reference `dynamo.md` §2.6)."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from clusters.operators.grove.topology import domain_keys
from simulator.api.go_types import GoType, Slice, Struct, read
from simulator.api.store import CollectionName
from simulator.api.webhooks import Denied, Webhook
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

GRAPHS: CollectionName = ("nvidia.com", "dynamographdeployments")
_BINDINGS: CollectionName = ("grove.io", "clustertopologybindings")
NAME_BUDGET = 45
_SEMVER = re.compile(r"v?\d+\.\d+\.\d+([-+.][0-9A-Za-z.-]+)?")
_ANNOTATIONS = {
    "nvidia.com/vllm-distributed-executor-backend": ("mp", "ray"),
    "nvidia.com/grove-update-strategy": ("RollingRecreate", "OnDelete"),
    "nvidia.com/dynamo-kube-discovery-mode": ("pod", "container"),
}
_MULTINODE_TYPES = ("worker", "prefill", "decode")
Problems = Iterator[str]
_CONTAINER = Struct("v1", "Container", {"name": "string", "image": "string"})
_TEMPLATE = Struct("v1", "PodTemplateSpec", {"spec": Struct("v1", "PodSpec", {"containers": Slice(_CONTAINER)})})
_CONSTRAINT: GoType = Struct("v1beta1", "TopologyConstraint", {"clusterTopologyName": "string", "packDomain": "string"})
_COMPONENT = Struct(
    "v1beta1",
    "DynamoComponentDeploymentSharedSpec",
    {
        "name": "string",
        "type": "v1beta1.ComponentType",
        "replicas": "int32",
        "minAvailable": "int32",
        "multinode": Struct("v1beta1", "MultinodeSpec", {"nodeCount": "int32"}),
        "podTemplate": _TEMPLATE,
        "runtimeVersionOverride": "string",
        "topologyConstraint": _CONSTRAINT,
    },
)
_SPEC = Struct(
    "v1beta1",
    "DynamoGraphDeploymentSpec",
    {
        "backendFramework": "string",
        "components": Slice(_COMPONENT),
        "experimental": Struct("v1beta1", "ExperimentalSpec"),
        "priorityClassName": "string",
        "restart": Struct("v1beta1", "Restart"),
        "topologyConstraint": _CONSTRAINT,
    },
)
_GRAPH = Struct("v1beta1", "DynamoGraphDeployment", {"spec": _SPEC})


def validate(server: "Server", new: Object, old: Object | None) -> list[str]:
    """Refuses with every problem found; an object that is being deleted passes."""
    if "deletionTimestamp" in new["metadata"]:
        return []
    problems = [text for check in ALWAYS for text in check(server, new)]
    if old is None:
        problems += [text for check in ON_CREATE for text in check(server, new)]
    else:
        problems += [text for check in ON_UPDATE for text in check(old, new)]
    if problems:
        raise Denied("; ".join(problems))
    return []


def _spec(graph: Object) -> Object:
    return graph.get("spec") or {}


def _components(graph: Object) -> list[Object]:
    return _spec(graph).get("components") or []


def _on_grove(graph: Object) -> bool:
    annotations = graph["metadata"].get("annotations") or {}
    return str(annotations.get("nvidia.com/enable-grove", "true")).lower() != "false"


def _names(server: "Server", graph: Object) -> Problems:
    name = graph["metadata"]["name"]
    seen: set[str] = set()
    if not _components(graph):
        yield "spec.components: Required value: at least one component is required"
    for index, component in enumerate(_components(graph)):
        own = component.get("name", "")
        if own.lower() in seen:
            yield f'spec.components[{index}].name: Duplicate value: "{own}" (names are compared without case)'
        seen.add(own.lower())
        length = len(name) + len(own)
        if _on_grove(graph) and length > NAME_BUDGET:
            yield (
                f'spec.components[{index}].name: Invalid value: "{own}": combined length of the '
                f'DynamoGraphDeployment name "{name}" and the component name is {length} characters, at most '
                f"{NAME_BUDGET} are allowed"
            )


def _containers(server: "Server", graph: Object) -> Problems:
    for index, component in enumerate(_components(graph)):
        path = f"spec.components[{index}].podTemplate.spec.containers"
        template = (component.get("podTemplate") or {}).get("spec") or {}
        main: Object = next((item for item in template.get("containers") or [] if item.get("name") == "main"), {})
        if not main.get("image"):
            yield f'{path}: Required value: a container named "main" with an image is required'


def _roles(server: "Server", graph: Object) -> Problems:
    epp = [item.get("name", "") for item in _components(graph) if item.get("type") == "epp"]
    if len(epp) > 1:
        yield f"spec.components: Invalid value: at most one component of type epp is allowed, got {len(epp)}"
    for index, component in enumerate(_components(graph)):
        path = f"spec.components[{index}]"
        least, replicas = component.get("minAvailable"), component.get("replicas", 1)
        if least is not None and not _on_grove(graph):
            yield f"{path}.minAvailable: Forbidden: minAvailable is supported on the Grove path only"
        elif least is not None and replicas and least > replicas:
            yield f"{path}.minAvailable: Invalid value: {least}: must not exceed replicas ({replicas})"
        if "multinode" in component and component.get("type", "worker") not in _MULTINODE_TYPES:
            yield f"{path}.multinode: Forbidden: only worker, prefill and decode components may span nodes"
    if _spec(graph).get("priorityClassName") and not _on_grove(graph):
        yield "spec.priorityClassName: Forbidden: priorityClassName is supported on the Grove path only"


def _annotations(server: "Server", graph: Object) -> Problems:
    for key, value in (graph["metadata"].get("annotations") or {}).items():
        allowed = _ANNOTATIONS.get(key)
        if allowed is not None and value not in allowed:
            shown = ", ".join(f'"{item}"' for item in allowed)
            yield f'metadata.annotations[{key}]: Unsupported value: "{value}": supported values: {shown}'


def _topology(server: "Server", graph: Object) -> Problems:
    whole = _spec(graph).get("topologyConstraint")
    parts = [
        (f"spec.components[{index}].topologyConstraint", item["topologyConstraint"])
        for index, item in enumerate(_components(graph))
        if item.get("topologyConstraint")
    ]
    if whole is None:
        for path, _ in parts:
            yield f"{path}: Forbidden: spec.topologyConstraint with clusterTopologyName is required first"
        return
    if not whole.get("packDomain") and not parts:
        yield "spec.topologyConstraint.packDomain: Required value: no component has a packDomain of its own"
    name = whole.get("clusterTopologyName", "")
    binding = server.store.collection(_BINDINGS).entries.get(("", name))
    if binding is None:
        path = "spec.topologyConstraint.clusterTopologyName"
        yield f'{path}: Invalid value: "{name}": no ClusterTopologyBinding of this name'
        return
    yield from _domains(list(domain_keys(binding.object)), whole, parts)


def _domains(domains: list[str], whole: Object, parts: list[tuple[str, Object]]) -> Problems:
    broadest = 0
    named = [("spec.topologyConstraint", whole)] if whole.get("packDomain") else []
    for path, constraint in named + parts:
        domain = constraint.get("packDomain")
        if domain not in domains:
            shown = ", ".join(f'"{item}"' for item in domains)
            yield f'{path}.packDomain: Unsupported value: "{domain}": supported values: {shown}'
        elif domains.index(domain) < broadest:
            yield f'{path}.packDomain: Invalid value: "{domain}": must be equal to or narrower than the graph\'s'
        elif constraint is whole:
            broadest = domains.index(domain)


def _restart_unset(server: "Server", graph: Object) -> Problems:
    if _spec(graph).get("restart"):
        yield "spec.restart: Forbidden: restart must not be set on create"


def _versions(server: "Server", graph: Object) -> Problems:
    for index, component in enumerate(_components(graph)):
        template = (component.get("podTemplate") or {}).get("spec") or {}
        main: Object = next((item for item in template.get("containers") or [] if item.get("name") == "main"), {})
        image = str(main.get("image") or "")
        tag = "" if "@" in image else image.rpartition("/")[2].partition(":")[2]
        if image and not component.get("runtimeVersionOverride") and _SEMVER.fullmatch(tag) is None:
            yield (
                f"spec.components[{index}].runtimeVersionOverride: Required value: the image tag of {image} is no "
                "semantic version"
            )


def _fixed_spec(old: Object, new: Object) -> Problems:
    for field in ("backendFramework", "topologyConstraint"):
        if _spec(old).get(field) != _spec(new).get(field):
            yield f"spec.{field}: Forbidden: field is immutable"
    before, now = _spec(old).get("experimental") or {}, _spec(new).get("experimental") or {}
    if before.get("kvTransferPolicy") != now.get("kvTransferPolicy"):
        yield "spec.experimental.kvTransferPolicy: Forbidden: field is immutable"


def _fixed_components(old: Object, new: Object) -> Problems:
    before = {item.get("name", ""): item for item in _components(old)}
    now = {item.get("name", ""): item for item in _components(new)}
    added, removed = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
    if added or removed:
        yield (
            "spec.components: Forbidden: the set of components is immutable "
            f"(added: [{' '.join(added)}], removed: [{' '.join(removed)}])"
        )
    for name in sorted(before.keys() & now.keys()):
        for field in ("type", "minAvailable", "topologyConstraint"):
            if before[name].get(field) != now[name].get(field):
                yield f"spec.components[{name}].{field}: Forbidden: field is immutable"
        if ("multinode" in before[name]) != ("multinode" in now[name]):
            yield f"spec.components[{name}].multinode: Forbidden: single-node and multi-node cannot be exchanged"


ALWAYS: tuple[Callable[["Server", Object], Problems], ...] = (_names, _containers, _roles, _annotations)
ON_CREATE: tuple[Callable[["Server", Object], Problems], ...] = (_topology, _restart_unset, _versions)
ON_UPDATE: tuple[Callable[[Object, Object], Problems], ...] = (_fixed_spec, _fixed_components)
WEBHOOKS: dict[CollectionName, Webhook] = {
    GRAPHS: Webhook(
        "vdynamographdeployment.kb.io",
        "dynamo-platform-dynamo-operator-webhook-service.dynamo-system.svc",
        "/validate-nvidia-com-v1beta1-dynamographdeployment",
        validate,
        partial(read, _GRAPH),
    )
}
