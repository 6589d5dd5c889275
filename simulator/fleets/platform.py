"""The parts a GPU platform consists of: their Deployments, KAI's defaults, and the exporter pods. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clusters.kinds import (
    DEPLOYMENT,
    KAI_CONFIG,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    SERVICE,
    Kind,
)
from simulator.client import Object

Entry = tuple[Kind, Object]

KAI, GROVE, DYNAMO, GPU_OPERATOR = "kai-scheduler", "grove-system", "dynamo-system", "gpu-operator"
KAI_VERSION, GROVE_VERSION, DYNAMO_VERSION = "v0.17.0", "v0.1.0-alpha.12", "1.5.0"
EXPORTER = "nvidia-dcgm-exporter"
EXPORTER_PORT = 9400
EXPORTER_IMAGE = "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.1.3-ubuntu22.04"
COMPONENT = "simulator.muster/component"
"""Deployment annotation: the name by which the fault `operator-down` stops it."""


class Component(NamedTuple):
    """A Deployment; `name` of the simulated operator behind it is `actor`."""

    namespace: str
    name: str
    image: str
    actor: str


def _kai(name: str, image: str, actor: str) -> Component:
    return Component(KAI, name, f"ghcr.io/kai-scheduler/kai-scheduler/{image}:{KAI_VERSION}", actor)


COMPONENTS = (
    _kai("kai-operator", "operator", "kai-operator"),
    _kai("kai-scheduler-default", "scheduler", "kai-scheduler"),
    _kai("binder", "binder", "binder"),
    _kai("pod-grouper", "podgrouper", "pod-grouper"),
    _kai("podgroup-controller", "podgroupcontroller", "podgroup-controller"),
    _kai("queue-controller", "queuecontroller", "queue-controller"),
    _kai("admission", "admission", "admission"),
    Component(GROVE, "grove-operator", f"ghcr.io/ai-dynamo/grove/grove-operator:{GROVE_VERSION}", "grove-operator"),
    Component(
        DYNAMO,
        "dynamo-platform-dynamo-operator-controller-manager",
        f"nvcr.io/nvidia/ai-dynamo/kubernetes-operator:{DYNAMO_VERSION}",
        "dynamo-operator",
    ),
    Component(GPU_OPERATOR, "gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.1", "gpu-operator"),
)
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}


def platform() -> Iterator[Entry]:
    """Namespaces, Deployments and what KAI's chart brings (priority classes, default queues, shard, config)."""
    for namespace in (KAI, GROVE, DYNAMO, GPU_OPERATOR):
        yield NAMESPACE, _named(NAMESPACE, namespace)
    for component in COMPONENTS:
        yield DEPLOYMENT, deployment(component)
    for name, value in PRIORITIES.items():
        yield PRIORITY_CLASS, {**_named(PRIORITY_CLASS, name), "value": value}
    yield KAI_QUEUE, queue("default-parent-queue")
    yield KAI_QUEUE, queue("default-queue", "default-parent-queue")
    yield KAI_SCHEDULING_SHARD, {**_named(KAI_SCHEDULING_SHARD, "default"), "spec": {}}
    yield KAI_CONFIG, {**_named(KAI_CONFIG, "kai-config"), "spec": {"namespace": KAI}}
    yield SERVICE, _service(EXPORTER, GPU_OPERATOR, "gpu-metrics", EXPORTER_PORT)
    yield SERVICE, _service("kai-scheduler-default", KAI, "http-metrics", 8080)


def deployment(component: Component) -> Object:
    labels = {"app": component.name, "app.kubernetes.io/name": component.name}
    version = component.image.rpartition(":")[2]
    container = {"name": component.name, "image": component.image}
    return {
        **_named(DEPLOYMENT, component.name, component.namespace),
        "metadata": {
            "name": component.name,
            "namespace": component.namespace,
            "labels": {**labels, "app.kubernetes.io/version": version},
            "annotations": {COMPONENT: component.actor},
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": component.name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def queue(name: str, parent: str = "", *, gpus: float = 0) -> Object:
    """A Queue with this many GPUs of quota and no limits, as KAI's chart makes its default ones (quota 0)."""
    unlimited = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    spec: Object = {"resources": {"gpu": {**unlimited, "quota": gpus}, "cpu": unlimited, "memory": unlimited}}
    if parent:
        spec["parentQueue"] = parent
    return {**_named(KAI_QUEUE, name), "spec": spec}


_EXPORTER_CONTAINERS = [
    {
        "name": EXPORTER,
        "image": EXPORTER_IMAGE,
        "ports": [{"name": "metrics", "containerPort": EXPORTER_PORT, "protocol": "TCP"}],
    }
]


def exporter_pods(nodes: Iterable[str]) -> Iterator[Entry]:
    """A running dcgm-exporter per node."""
    for number, node in enumerate(nodes):
        yield POD, exporter_pod(node, number)


def exporter_pod(node: str, number: int) -> Object:
    labels = {"app": EXPORTER, "app.kubernetes.io/name": EXPORTER, "app.kubernetes.io/component": EXPORTER}
    return {
        "apiVersion": POD.api_version,
        "kind": POD.kind,
        "metadata": {"name": f"{EXPORTER}-{number:05d}", "namespace": GPU_OPERATOR, "labels": labels},
        "spec": {
            "nodeName": node,
            "priorityClassName": "system-node-critical",
            "containers": _EXPORTER_CONTAINERS,
            "tolerations": [{"operator": "Exists"}],
        },
    }


def _service(name: str, namespace: str, port_name: str, port: int) -> Object:
    service = _named(SERVICE, name, namespace)
    service["metadata"]["labels"] = {"app": name}
    ports = [{"name": port_name, "port": port, "targetPort": port, "protocol": "TCP"}]
    return {**service, "spec": {"selector": {"app": name}, "ports": ports}}


def _named(kind: Kind, name: str, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
