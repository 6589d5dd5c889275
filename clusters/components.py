"""The parts of a GPU platform that Muster builds on: what each is for, how it is found, judged and installed. Pure.

Sources: the charts of KAI Scheduler, Grove, Dynamo (`reference: dynamo.md §9`), GPU operator, kube-prometheus-stack.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_POD_CLIQUE_SET,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_TOPOLOGY,
    Kind,
)

Health = Literal["healthy", "degraded", "missing", "unknown"]
Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One controller. `pattern` matches the last path segment of its image or its name; an `optional` part that is
    absent harms nothing."""

    name: str
    pattern: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Component:
    """A component, whom it serves, and the command that installs the version that Muster is tested with."""

    key: str
    title: str
    purpose: str | Promise
    parts: tuple[Part, ...]
    install: str
    required: bool = True
    kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A component as it is in one cluster. `version` is the image tag of its first part."""

    key: str
    health: Health
    version: str = ""
    message: str = ""
    parts: tuple[Mapping[str, Any], ...] = ()
    missing_kinds: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """The JSON in `Cluster.components`, without `since`."""
        return {
            "key": self.key,
            "health": self.health,
            "version": self.version,
            "message": self.message,
            "parts": list(self.parts),
            "missingKinds": list(self.missing_kinds),
        }


COMPONENTS: tuple[Component, ...] = (
    Component(
        "kai-scheduler",
        "KAI Scheduler",
        _("Places pods as gangs by queue, quota and topology. Without it nothing that Muster submits starts."),
        (
            Part("scheduler", r"^scheduler$|^kai-scheduler-"),
            Part("binder", r"^binder$"),
            Part("podgrouper", r"^pod-?grouper$"),
            Part("podgroup-controller", r"^pod-?group-?controller$", optional=True),
            Part("queue-controller", r"^queue-?controller$"),
            Part("admission", r"^admission$", optional=True),
        ),
        "helm upgrade --install kai-scheduler oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler \\\n"
        "  --namespace kai-scheduler --create-namespace --version v0.17.0",
        kinds=(KAI_QUEUE, KAI_POD_GROUP, KAI_TOPOLOGY),
    ),
    Component(
        "grove",
        "Grove",
        _("Makes the pods of a multi-role graph and groups them, so that they start together."),
        (Part("operator", r"^grove-operator$"),),
        "helm upgrade --install grove oci://ghcr.io/ai-dynamo/grove/grove-charts \\\n"
        "  --namespace grove-system --create-namespace --version v0.1.0-alpha.12",
        kinds=(GROVE_POD_CLIQUE_SET,),
    ),
    Component(
        "dynamo",
        "NVIDIA Dynamo",
        _("Runs inference graphs: workloads are DynamoGraphDeployments that its operator turns into pods."),
        (Part("operator", r"^kubernetes-operator$|dynamo-operator"),),
        "helm fetch https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts/dynamo-platform-1.5.0.tgz\n"
        "helm upgrade --install dynamo-platform dynamo-platform-1.5.0.tgz \\\n"
        "  --namespace dynamo-system --create-namespace \\\n"
        "  --set global.grove.enabled=true --set global.kai-scheduler.enabled=true",
        kinds=(DYNAMO_GRAPH_DEPLOYMENT,),
    ),
    Component(
        "gpu-operator",
        "NVIDIA GPU Operator",
        _("Makes GPUs visible to Kubernetes and labels nodes; its dcgm-exporter is where utilisation comes from."),
        (Part("operator", r"^gpu-operator$"), Part("dcgm-exporter", r"dcgm-exporter$", optional=True)),
        "helm repo add nvidia https://helm.ngc.nvidia.com/nvidia\n"
        "helm upgrade --install gpu-operator nvidia/gpu-operator \\\n"
        "  --namespace gpu-operator --create-namespace --version v25.10.1",
        required=False,
    ),
    Component(
        "prometheus",
        "Prometheus",
        _("Keeps metrics for longer than Muster does. Without it Muster reads the exporters itself and keeps days."),
        (Part("server", r"^prometheus$|^prometheus-server$|^vmsingle|^victoria-metrics$"),),
        "helm repo add prometheus-community https://prometheus-community.github.io/helm-charts\n"
        "helm upgrade --install prometheus prometheus-community/kube-prometheus-stack \\\n"
        "  --namespace monitoring --create-namespace \\\n"
        "  --set prometheus.prometheusSpec.podMonitorSelectorNilUsesHelmValues=false",
        required=False,
    ),
)
BY_KEY = {component.key: component for component in COMPONENTS}


def find_components(controllers: Iterable[Manifest], served: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Found]:
    """What of each component is in the cluster, from its Deployments, DaemonSets and StatefulSets."""
    listed = list(controllers)
    return [_judge(component, listed, served) for component in COMPONENTS]


def unknown_components(message: str) -> list[Found]:
    """When the controllers could not be read: unknown, which is not missing."""
    return [Found(component.key, "unknown", message=message) for component in COMPONENTS]


def with_since(found: Sequence[Found], before: Sequence[Mapping[str, Any]], now: str) -> list[dict[str, Any]]:
    """The JSON to store; `since` moves only where the health changed."""
    old = {entry["key"]: entry for entry in before}
    return [
        item.as_dict()
        | {"since": old[item.key]["since"] if old.get(item.key, {}).get("health") == item.health else now}
        for item in found
    ]


def _judge(
    component: Component, controllers: Sequence[Manifest], served: Mapping[str, Mapping[str, Sequence[str]]]
) -> Found:
    parts = [_part(part, controllers) for part in component.parts]
    absent = tuple(
        f"{kind.kind} ({kind.group})" for kind in component.kinds if kind.plural not in served.get(kind.group, {})
    )
    lost = [part["name"] for part, entry in zip(parts, component.parts, strict=True) if _is_lost(part, entry)]
    down = [part["name"] for part in parts if part["health"] == "degraded"]
    version = next((part["version"] for part in parts if part["version"]), "")
    present = any(part["health"] != "missing" for part in parts)
    if not present:
        return Found(component.key, "missing", "", "It was not found in the cluster.", tuple(parts), absent)
    problems = [f"{name} is not ready" for name in down]
    problems += [f"{name} was not found" for name in lost]
    problems += [f"the kind {name} is not served" for name in absent]
    health: Health = "degraded" if problems else "healthy"
    return Found(component.key, health, version, "; ".join(problems), tuple(parts), absent)


def _is_lost(part: Mapping[str, Any], entry: Part) -> bool:
    return part["health"] == "missing" and not entry.optional


def _part(part: Part, controllers: Sequence[Manifest]) -> dict[str, Any]:
    for controller in controllers:
        images = _images(controller)
        names = {controller["metadata"]["name"], *(image.rpartition(":")[0].rpartition("/")[2] for image in images)}
        if any(re.search(part.pattern, name) for name in names):
            wanted, ready = _replicas(controller)
            return {
                "name": part.name,
                "object": f"{controller['metadata'].get('namespace', '')}/{controller['metadata']['name']}",
                "version": images[0].rpartition(":")[2].partition("@")[0] if images and ":" in images[0] else "",
                "ready": ready,
                "wanted": wanted,
                "health": "healthy" if ready >= wanted else "degraded",
            }
    return {"name": part.name, "object": "", "version": "", "ready": 0, "wanted": 0, "health": "missing"}


def _images(controller: Manifest) -> list[str]:
    pod = controller.get("spec", {}).get("template", {}).get("spec", {})
    return [str(container.get("image", "")) for container in pod.get("containers", ())]


def _replicas(controller: Manifest) -> tuple[int, int]:
    """(wanted, ready) of a Deployment, StatefulSet or DaemonSet."""
    status = controller.get("status", {})
    if "desiredNumberScheduled" in status:
        return int(status["desiredNumberScheduled"]), int(status.get("numberReady", 0))
    wanted = controller.get("spec", {}).get("replicas", 1)
    return int(1 if wanted is None else wanted), int(status.get("readyReplicas", 0))
