"""The submission form as a view of the document: fields read from it, and the changes that put them back. Pure.

What the form does not show stays as it is, comments included; a field that is not changed changes nothing.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.names import (
    DYNAMO_QUEUE_ANNOTATION,
    GPU_RESOURCE,
    NODE_POOL_LABEL,
    PREFERRED_PLACEMENT_ANNOTATION,
    REQUIRED_PLACEMENT_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from core.errors import InvalidInput
from core.words import gettext as _
from workloads.allowlist import structure_faults
from workloads.components import Component, main_container
from workloads.graph import PREEMPTIBILITY_LABEL, PRIORITY_LABEL, V1ALPHA1, Graph, component_path, parse_graph

Document = Mapping[str, Any]
Path = tuple[str | int, ...]

MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class RoleFields:
    """A row of the roles table, as text: what people type before it is checked."""

    name: str
    replicas: str
    gpus: str
    args: str


@dataclass(frozen=True, slots=True)
class Fields:
    """The form. `queue` and `namespace` follow the project; they are written only where the document has them."""

    name: str
    node_pool: str
    topology: str
    required: str
    preferred: str
    priority_class: str
    preemptibility: str
    roles: tuple[RoleFields, ...]
    namespace: str = ""
    queue: str = ""


def fields_of(document: Document) -> Fields:
    """What the form shows of a document. Raises `InvalidInput` where it is no graph."""
    graph = parse_graph(document)
    faults = structure_faults(document)
    if faults:
        raise InvalidInput(faults)
    wishes = graph.wishes
    return Fields(
        name=graph.name,
        node_pool=wishes.node_pool,
        topology=wishes.topology,
        required=wishes.required,
        preferred=wishes.preferred,
        priority_class=wishes.priority_class,
        preemptibility=wishes.preemptibility,
        roles=tuple(_role(document, component) for component in graph.components),
        namespace=graph.namespace,
        queue=wishes.queue,
    )


def changes_of(document: Document, wanted: Fields) -> dict[Path, Any]:
    """What to change in `document` (for `document.edit`) so that its form shows `wanted`."""
    graph, now = parse_graph(document), fields_of(document)
    changes: dict[Path, Any] = {}
    if wanted.name != now.name:
        changes[("metadata", "name")] = wanted.name
    for old, new, path in (
        (now.node_pool, wanted.node_pool, _entry(document, "labels", NODE_POOL_LABEL)),
        (now.topology, wanted.topology, _entry(document, "annotations", TOPOLOGY_ANNOTATION)),
        (now.required, wanted.required, _entry(document, "annotations", REQUIRED_PLACEMENT_ANNOTATION)),
        (now.preferred, wanted.preferred, _entry(document, "annotations", PREFERRED_PLACEMENT_ANNOTATION)),
        (now.preemptibility, wanted.preemptibility, _entry(document, "labels", PREEMPTIBILITY_LABEL)),
        (now.priority_class, wanted.priority_class, _priority_path(document)),
    ):
        if old != new:
            changes[path] = new or None
    if now.namespace and wanted.namespace and now.namespace != wanted.namespace:
        changes[("metadata", "namespace")] = wanted.namespace
    if now.queue and wanted.queue and now.queue != wanted.queue:
        changes[_entry(document, "annotations", DYNAMO_QUEUE_ANNOTATION)] = wanted.queue
    return changes | _role_changes(document, graph, now, wanted)


def _role_changes(document: Document, graph: Graph, now: Fields, wanted: Fields) -> dict[Path, Any]:
    changes: dict[Path, Any] = {}
    by_name = {role.name: role for role in wanted.roles}
    for component, was in zip(graph.components, now.roles, strict=True):
        role, path = by_name.get(component.name, was), component_path(document, component.name)
        if role.replicas != was.replicas:
            replicas = _number(role.replicas)
            changes[(*path, "replicas")] = replicas
            if component.min_available == component.replicas and isinstance(replicas, int) and replicas:
                changes[(*path, "minAvailable")] = replicas
        if role.gpus != was.gpus:
            changes[_gpu_path(document, path)] = role.gpus if role.gpus not in ("", "0") else None
        if role.args != was.args:
            changes[(*_main_path(document, path), "args")] = _split(role.args)
    return changes


def _number(text: str) -> int | str:
    """What is typed as a number; as text what is none, which is then refused by its field."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else text


def _role(document: Document, component: Component) -> RoleFields:
    entry = _at(document, component_path(document, component.name))
    args = main_container(entry, _is_alpha(document)).get("args")
    return RoleFields(
        component.name,
        str(component.replicas),
        f"{component.gpus_each:f}",
        shlex.join(str(arg) for arg in args) if isinstance(args, list) else "",
    )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote: kept as one argument, so that nothing typed is lost
        return [text]


def _entry(document: Document, section: str, key: str) -> Path:
    """Where a label or annotation stands; where it is new: in the spec, from which it reaches the scheduler."""
    for place in ("spec", "metadata"):
        if key in ((document.get(place) or {}).get(section) or {}):
            return (place, section, key)
    return ("spec", section, key)


def _priority_path(document: Document) -> Path:
    for place in ("spec", "metadata"):
        if PRIORITY_LABEL in ((document.get(place) or {}).get("labels") or {}):
            return (place, "labels", PRIORITY_LABEL)
    return ("spec", "priorityClassName")


def _is_alpha(document: Document) -> bool:
    return document.get("apiVersion") == V1ALPHA1


def _main_path(document: Document, path: Path) -> Path:
    if _is_alpha(document):
        return (*path, "extraPodSpec", "mainContainer")
    containers = ((_at(document, path).get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    if not containers:
        field = f"spec.components[{path[-1]}].podTemplate.spec.containers"
        raise InvalidInput.of(field, _("no container named main with an image"), _("image of the Dynamo runtime"))
    index = next((i for i, container in enumerate(containers) if container.get("name") == "main"), 0)
    return (*path, "podTemplate", "spec", "containers", index)


def _gpu_path(document: Document, path: Path) -> Path:
    main = _main_path(document, path)
    own = (_at(document, main).get("resources") or {}).get("limits") or {}
    if _is_alpha(document) and GPU_RESOURCE not in own:
        return (*path, "resources", "limits", "gpu")
    return (*main, "resources", "limits", GPU_RESOURCE)


def _at(document: Document, path: Path) -> Any:
    here: Any = document
    for step in path:
        here = here.get(step) or {} if isinstance(step, str) else here[step]
    return here
