"""A DynamoGraphDeployment, v1alpha1 or v1beta1, as frozen dataclasses: what Muster needs to know of it. Pure.

Field names and rules: Dynamo operator api/{v1alpha1,v1beta1}, see also docs on admission in the operator.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT
from clusters.names import (
    DYNAMO_QUEUE_ANNOTATION,
    NODE_POOL_LABEL,
    PREFERRED_PLACEMENT_ANNOTATION,
    QUEUE_LABEL,
    REQUIRED_PLACEMENT_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from core.errors import Fault, InvalidInput
from core.words import gettext as _
from workloads.components import Component, read_component, text_of

Document = Mapping[str, Any]

V1ALPHA1 = "nvidia.com/v1alpha1"
V1BETA1 = "nvidia.com/v1beta1"
API_VERSIONS = (V1BETA1, V1ALPHA1)

FRAMEWORKS = ("vllm", "sglang", "trtllm")
MAX_COMPONENTS = 25
# Of a whole graph.
MAX_PODS = 10_000
MAX_GRAPH_GPUS = 1_000_000
_COMPONENT_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?\Z")

PRIORITY_LABEL = "priorityClassName"
PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the document says about scheduling, wherever it says it. Empty: nothing said.

    `required`/`preferred` are node-label keys (or a level's alias); `places` are the paths that were read.
    """

    queue: str = ""
    node_pool: str = ""
    topology: str = ""
    required: str = ""
    preferred: str = ""
    priority_class: str = ""
    preemptibility: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """A parsed graph. `framework` is vllm, sglang, trtllm or empty where nothing says it."""

    api_version: str
    name: str
    namespace: str
    framework: str
    components: tuple[Component, ...]
    wishes: Wishes

    @property
    def is_disaggregated(self) -> bool:
        """Whether prefill and decode are separate roles."""
        roles = {component.role for component in self.components}
        return {"prefill", "decode"} <= roles

    @property
    def gpus(self) -> Decimal:
        """GPUs wanted by the whole graph."""
        return sum((component.gpus for component in self.components), Decimal(0))

    @property
    def pods(self) -> int:
        """Pods wanted by the whole graph."""
        return sum(component.pods for component in self.components)

    @property
    def gang_gpus(self) -> Decimal:
        """GPUs of the pods without which none starts."""
        return sum((component.gang_pods * component.gpus_each for component in self.components), Decimal(0))


def parse_graph(document: Document) -> Graph:
    """The graph that `document` describes. Raises `InvalidInput` with every fault, each with its field."""
    faults: list[Fault] = []
    api_version = _api_version(document)
    metadata = _mapping(document, "metadata", "metadata", faults)
    spec = _mapping(document, "spec", "spec", faults)
    components = tuple(_components(api_version, spec, faults))
    framework = spec.get("backendFramework", "")
    if framework not in ("", *FRAMEWORKS):
        message = _("%(value)s is not a framework") % {"value": repr(framework)}
        faults.append(Fault("spec.backendFramework", message, ", ".join(FRAMEWORKS)))
    faults = faults or list(_size_faults(components))
    if faults:
        raise InvalidInput(faults)
    return Graph(
        api_version=api_version,
        name=text_of(metadata.get("name")),
        namespace=text_of(metadata.get("namespace")),
        framework=framework or _detect_framework(spec),
        components=components,
        wishes=read_wishes(document),
    )


def _size_faults(components: Sequence[Component]) -> Iterator[Fault]:
    """More than a cluster holds, and than can be placed or counted in the time of a request."""
    for wanted, limit, message in (
        (sum(component.pods for component in components), MAX_PODS, _("it wants %(n)d pods")),
        (int(sum(component.gpus for component in components)), MAX_GRAPH_GPUS, _("it wants %(n)d GPUs")),
    ):
        if wanted > limit:
            yield Fault("spec", message % {"n": wanted}, _("at most %(limit)d") % {"limit": limit})


def read_wishes(document: Document) -> Wishes:
    """The scheduling wishes: the spec's labels and annotations first, then the metadata's, then the metadata's
    spelling of others (queue as KAI's label, class as a label, as people copy them)."""

    def find(section: str, *keys: str) -> str:
        for place in ("spec", "metadata"):
            entries = (document.get(place) or {}).get(section) or {}
            for key in keys:
                if isinstance(entries, Mapping) and entries.get(key):
                    return str(entries[key])
        return ""

    spec = document.get("spec") or {}
    return Wishes(
        queue=find("annotations", DYNAMO_QUEUE_ANNOTATION, QUEUE_LABEL) or find("labels", QUEUE_LABEL),
        node_pool=find("labels", NODE_POOL_LABEL) or find("annotations", NODE_POOL_LABEL),
        topology=find("annotations", TOPOLOGY_ANNOTATION),
        required=find("annotations", REQUIRED_PLACEMENT_ANNOTATION),
        preferred=find("annotations", PREFERRED_PLACEMENT_ANNOTATION),
        priority_class=text_of(spec.get("priorityClassName")) or find("labels", PRIORITY_LABEL),
        preemptibility=find("labels", PREEMPTIBILITY_LABEL),
    )


def component_path(document: Document, component: str) -> tuple[str | int, ...]:
    """Where the component stands in the document, for `document.edit`. Raises `InvalidInput` naming the valid ones."""
    spec = document.get("spec") or {}
    names: list[str] = []
    if document.get("apiVersion") == V1ALPHA1:
        names = list(spec.get("services") or {})
        if component in names:
            return ("spec", "services", component)
    else:
        for index, entry in enumerate(spec.get("components") or ()):
            names.append(entry.get("name", ""))
            if names[-1] == component:
                return ("spec", "components", index)
    message = _("there is no component %(name)s") % {"name": repr(component[:63])}
    raise InvalidInput.of("component", message, ", ".join(names))


def _api_version(document: Document) -> str:
    api_version, kind = text_of(document.get("apiVersion")), text_of(document.get("kind"))
    real = _("kind %(kind)s with apiVersion %(new)s (Dynamo 1.2 and later) or %(old)s") % {
        "kind": DYNAMO_GRAPH_DEPLOYMENT.kind,
        "new": V1BETA1,
        "old": V1ALPHA1,
    }
    if kind == "DynamoDeployment" or api_version.startswith("dynamo.nvidia.com/"):
        message = _("%(kind)s of %(group)s exists in no release of Dynamo")
        values = {"kind": kind or _("this kind"), "group": api_version or _("this group")}
        raise InvalidInput.of("kind", message % values, real)
    if kind != DYNAMO_GRAPH_DEPLOYMENT.kind:
        message = _("%(kind)s cannot be submitted") if kind else _("it does not say of which kind it is")
        raise InvalidInput.of("kind", message % {"kind": repr(kind[:80])}, real)
    if api_version not in API_VERSIONS:
        message = _("%(version)s is not a version of it") % {"version": repr(api_version[:80])}
        raise InvalidInput.of("apiVersion", message, ", ".join(API_VERSIONS))
    return api_version


def _components(api_version: str, spec: Mapping[str, Any], faults: list[Fault]) -> Iterator[Component]:
    entries = list(_entries(api_version, spec, faults))
    if not entries:
        listed = "services" if api_version == V1ALPHA1 else "components"
        faults.append(
            Fault(f"spec.{listed}", _("it lists no component"), _("1 to %(limit)d") % {"limit": MAX_COMPONENTS})
        )
    if len(entries) > MAX_COMPONENTS:
        message = _("it lists %(n)d components") % {"n": len(entries)}
        faults.append(Fault("spec", message, _("1 to %(limit)d") % {"limit": MAX_COMPONENTS}))
    seen: set[str] = set()
    for name, field, entry in entries:
        if _COMPONENT_NAME.match(name) is None:
            message = _("%(name)s cannot name a component") % {"name": repr(name[:80])}
            faults.append(Fault(field, message, _("letters, digits and “-”, not “-” at an end")))
        if name.lower() in seen:
            message = _("the component %(name)s stands twice (upper and lower case count as one)")
            faults.append(Fault(field, message % {"name": repr(name)}))
        seen.add(name.lower())
        yield read_component(name, field, entry, is_alpha=api_version == V1ALPHA1, faults=faults)


def _entries(
    api_version: str, spec: Mapping[str, Any], faults: list[Fault]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if api_version == V1ALPHA1:
        if "components" in spec:
            message = _("%(version)s has a map spec.services") % {"version": V1ALPHA1}
            faults.append(Fault("spec.components", message, f"services, {V1BETA1}"))
        for name, entry in _mapping(spec, "services", "spec.services", faults).items():
            if isinstance(entry, Mapping):
                yield name, f"spec.services.{name}", entry
            else:
                faults.append(Fault(f"spec.services.{name}", _("it is not a mapping")))
        return
    if "services" in spec:
        message = _("%(version)s has a list spec.components") % {"version": V1BETA1}
        faults.append(Fault("spec.services", message, f"components, {V1ALPHA1}"))
    listed = spec.get("components") or []
    if not isinstance(listed, list):
        faults.append(Fault("spec.components", _("it is not a list")))
        return
    for index, entry in enumerate(listed):
        field = f"spec.components[{index}]"
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            yield entry["name"], field, entry
        else:
            faults.append(Fault(f"{field}.name", _("the component has no name")))


def _mapping(holder: Mapping[str, Any], key: str, field: str, faults: list[Fault]) -> Mapping[str, Any]:
    value = holder.get(key)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    faults.append(Fault(field, _("it is not a mapping")))
    return {}


def _detect_framework(spec: Mapping[str, Any]) -> str:
    """The framework whose module a command names (`python3 -m dynamo.vllm`), as the operator detects it."""
    text = str(spec)
    return next((framework for framework in FRAMEWORKS if f"dynamo.{framework}" in text), "")
