"""A DynamoGraphDeployment read from either version into one shape. Pure.

v1beta1 has a `components` list with pod templates, v1alpha1 a `services` map with its own resource and pod fields
(dynamo.md §2.2, §2.3). The shape decides, not `apiVersion`: without a conversion webhook a server hands out objects
under a version they were not written in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.operators.objects import Object, annotations_of, mapping_of, spec_of, without_empty
from core.words import gettext as _

WORKER_TYPES = ("worker", "prefill", "decode")
GPU = "nvidia.com/gpu"


class GraphError(ValueError):
    """The graph cannot be rendered; the text names the field."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component; `template` is a core PodTemplateSpec whose container `main` is the component itself."""

    name: str
    type: str
    sub_type: str
    replicas: int
    template: Object
    min_available: int = 1
    node_count: int = 1
    shared_memory: str = "8Gi"
    pack_domain: str = ""
    override: Object = field(default_factory=dict)

    @property
    def is_worker(self) -> bool:
        return self.type in WORKER_TYPES

    @property
    def main(self) -> Object:
        """The container `main`. Raises GraphError without one."""
        for container in spec_of(self.template).get("containers") or ():
            if container.get("name") == "main":
                return dict(container)
        told = _("component %(name)s: podTemplate.spec.containers needs a container named main")
        raise GraphError(told % {"name": self.name})


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole deployment; `annotations` and `labels` are those of `spec`, which reach the PodCliqueSet."""

    name: str
    namespace: str
    queue_annotation: str
    uses_grove: bool
    components: tuple[Component, ...]
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    env: tuple[Object, ...]
    priority_class: str
    topology: str
    pack_domain: str
    override: Object


def read_graph(dgd: Object) -> Graph:
    """Raises GraphError on what no version takes."""
    spec = spec_of(dgd)
    constraint = spec.get("topologyConstraint") or {}
    annotations = annotations_of(dgd)
    return Graph(
        name=dgd["metadata"]["name"],
        namespace=dgd["metadata"]["namespace"],
        queue_annotation=annotations.get("nvidia.com/kai-scheduler-queue", ""),
        uses_grove=wants_grove(dgd),
        components=_components(spec),
        annotations=dict(spec.get("annotations") or {}),
        labels=dict(spec.get("labels") or {}),
        env=tuple(spec.get("env") or spec.get("envs") or ()),
        priority_class=spec.get("priorityClassName") or "",
        topology=constraint.get("clusterTopologyName") or constraint.get("topologyProfile") or "",
        pack_domain=constraint.get("packDomain") or "",
        override=dict(spec.get("providerOverride") or {}),
    )


def wants_grove(dgd: Mapping[str, Any]) -> bool:
    """Whether its pods are to be gangs of Grove: they are, unless its annotation says otherwise."""
    annotations = mapping_of(mapping_of(dgd.get("metadata")).get("annotations"))
    return str(annotations.get("nvidia.com/enable-grove", "")).lower() != "false"


def _components(spec: Object) -> tuple[Component, ...]:
    if spec.get("components"):
        return tuple(_from_component(component) for component in spec["components"])
    return tuple(_from_service(name, service) for name, service in (spec.get("services") or {}).items())


def _from_component(component: Object) -> Component:
    kind = component.get("type") or "worker"
    return Component(
        name=component["name"],
        type=kind,
        sub_type=kind if kind in ("prefill", "decode") else "",
        replicas=component.get("replicas", 1),
        template=component.get("podTemplate") or {},
        min_available=component.get("minAvailable", 1),
        node_count=_node_count(component),
        shared_memory=str(component.get("sharedMemorySize", "8Gi")),
        pack_domain=(component.get("topologyConstraint") or {}).get("packDomain", ""),
        override=dict(component.get("providerOverride") or {}),
    )


def _from_service(name: str, service: Object) -> Component:
    kind = service.get("componentType") or "worker"
    shared = service.get("sharedMemory") or {}
    return Component(
        name=name,
        type=kind,
        sub_type=service.get("subComponentType") or (kind if kind in ("prefill", "decode") else ""),
        replicas=service.get("replicas", 1),
        template=_template_of_service(service),
        node_count=_node_count(service),
        shared_memory="0" if shared.get("disabled") else str(shared.get("size", "8Gi")),
        pack_domain=(service.get("topologyConstraint") or {}).get("packDomain", ""),
    )


def _node_count(part: Object) -> int:
    multinode = part.get("multinode")
    return 1 if multinode is None else int(multinode.get("nodeCount", 2))


def _template_of_service(service: Object) -> Object:
    """The pod template behind v1alpha1's resources, envs, probes and extraPodSpec."""
    extra: dict[str, Any] = dict(service.get("extraPodSpec") or {})
    main = dict(extra.pop("mainContainer", None) or {})
    own_env = service.get("envs") or ()
    main["name"] = "main"
    main["env"] = [*own_env, *(main.get("env") or ())]
    if service.get("envFromSecret"):
        main["envFrom"] = [*(main.get("envFrom") or ()), {"secretRef": {"name": service["envFromSecret"]}}]
    if service.get("resources"):
        main["resources"] = _resources(service["resources"])
    for probe in ("livenessProbe", "readinessProbe"):
        if service.get(probe):
            main[probe] = service[probe]
    metadata = without_empty({"annotations": service.get("annotations"), "labels": service.get("labels")})
    containers = [without_empty(main), *(extra.get("containers") or ())]
    return {"metadata": metadata, "spec": {**extra, "containers": containers}}


def _resources(resources: Object) -> Object:
    """v1alpha1 {cpu, memory, gpu, gpuType, custom} → core resources."""
    found: Object = {}
    for part in ("requests", "limits"):
        amounts: dict[str, Any] = dict(resources.get(part) or {})
        gpus = amounts.pop("gpu", None)
        key = amounts.pop("gpuType", None) or GPU
        converted = {**amounts.pop("custom", {}), **amounts}
        if gpus is not None:
            converted[key] = str(gpus)
        if converted:
            found[part] = converted
    return found
