"""One component of a DynamoGraphDeployment: its pods, GPUs, minimum and image, in either version. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from clusters.names import GPU_RESOURCE
from clusters.quantities import parse_quantity
from core.errors import Fault, InvalidInput
from core.words import gettext as _

COMPONENT_TYPES = ("frontend", "worker", "prefill", "decode", "planner", "epp")
MAX_REPLICAS = 10_000
MAX_GPUS = 10_000


@dataclass(frozen=True, slots=True)
class Component:
    """One role of the graph. `gpus_each` is per pod; a replica has `nodes` pods (1 unless multinode).

    `field` is its path in the document. `min_available` counts replicas: the gang's minimum, None = the
    operator's default of 1.
    """

    name: str
    field: str
    type: str
    subtype: str
    replicas: int
    nodes: int
    gpus_each: Decimal
    min_available: int | None
    image: str
    has_adapter: bool

    @property
    def role(self) -> str:
        """frontend, prefill, decode, worker, planner, epp, or the free type of v1alpha1."""
        return self.subtype or self.type

    @property
    def pods(self) -> int:
        """Pods wanted."""
        return self.replicas * self.nodes

    @property
    def gpus(self) -> Decimal:
        """GPUs wanted by all replicas."""
        return self.pods * self.gpus_each

    @property
    def gang_pods(self) -> int:
        """Pods without which none starts."""
        return min(self.replicas, self.min_available or 1) * self.nodes


def read_component(
    name: str, field: str, entry: Mapping[str, Any], *, is_alpha: bool, faults: list[Fault]
) -> Component:
    """The role at `field`; what is wrong with it is added to `faults`."""
    type_ = text_of(entry.get("componentType" if is_alpha else "type"))
    if not is_alpha and type_ not in COMPONENT_TYPES:
        message = _("%(value)s is not a type of component") % {"value": repr(type_)}
        faults.append(Fault(f"{field}.type", message, ", ".join(COMPONENT_TYPES)))
    subtype = text_of(entry.get("subComponentType")) if is_alpha else ""
    if subtype not in ("", "prefill", "decode"):
        message = _("%(value)s is not a sub-type") % {"value": repr(subtype)}
        faults.append(Fault(f"{field}.subComponentType", message, "prefill, decode"))
    multinode = entry.get("multinode")
    nodes = 1
    if isinstance(multinode, Mapping):
        nodes = _whole(multinode.get("nodeCount", 2), f"{field}.multinode.nodeCount", 2, faults)
    replicas = _whole(entry.get("replicas", 1), f"{field}.replicas", 0, faults)
    minimum = None
    if "minAvailable" in entry:
        minimum = _whole(entry["minAvailable"], f"{field}.minAvailable", 1, faults)
        if replicas and minimum > replicas:
            message = _("%(minimum)d is more than the %(replicas)d replicas")
            values = {"minimum": minimum, "replicas": replicas}
            allowed = _("1 to %(limit)d") % {"limit": replicas}
            faults.append(Fault(f"{field}.minAvailable", message % values, allowed))
    adapter = entry.get("scalingAdapter")
    return Component(
        name=name,
        field=field,
        type=type_ or "worker",
        subtype=subtype,
        replicas=replicas,
        nodes=nodes,
        gpus_each=_gpus(entry, field, is_alpha, faults),
        min_available=minimum,
        image=text_of(main_container(entry, is_alpha).get("image")),
        has_adapter=adapter is not None and (not is_alpha or bool(_inner(entry, "scalingAdapter").get("enabled"))),
    )


def main_container(entry: Mapping[str, Any], is_alpha: bool) -> Mapping[str, Any]:
    """The container that runs the engine: `mainContainer` in v1alpha1, the one named main in v1beta1; {} if none."""
    if is_alpha:
        return _inner(_inner(entry, "extraPodSpec"), "mainContainer")
    return next((c for c in _containers(entry) if isinstance(c, Mapping) and c.get("name") == "main"), {})


def _containers(entry: Mapping[str, Any]) -> list[Any]:
    listed = _inner(_inner(entry, "podTemplate"), "spec").get("containers")
    return listed if isinstance(listed, list) else []


def _gpus(entry: Mapping[str, Any], field: str, is_alpha: bool, faults: list[Fault]) -> Decimal:
    """GPUs of one pod: the sum over its containers, from limits, else requests."""
    total = Decimal(0)
    if is_alpha:
        resources = _inner(entry, "resources")
        for section in ("limits", "requests"):
            amounts = _inner(resources, section)
            found = amounts.get("gpu", _inner(amounts, "custom").get(GPU_RESOURCE))
            if found is not None:
                total += _devices(found, f"{field}.resources.{section}.gpu", faults)
                break
        return total + _container_gpus(main_container(entry, True), f"{field}.extraPodSpec.mainContainer", faults)
    for index, container in enumerate(_containers(entry)):
        if isinstance(container, Mapping):
            total += _container_gpus(container, f"{field}.podTemplate.spec.containers[{index}]", faults)
    return total


def _container_gpus(container: Mapping[str, Any], field: str, faults: list[Fault]) -> Decimal:
    resources = _inner(container, "resources")
    for section in ("limits", "requests"):
        found = _inner(resources, section).get(GPU_RESOURCE)
        if found is not None:
            return _devices(found, f"{field}.resources.{section}[{GPU_RESOURCE}]", faults)
    return Decimal(0)


def _devices(value: Any, field: str, faults: list[Fault]) -> Decimal:
    try:
        amount = parse_quantity(value)
    except InvalidInput:
        amount = Decimal(-1)
    if isinstance(value, bool) or not 0 <= amount <= MAX_GPUS or amount != amount.to_integral_value():
        message = _("%(value)s is not a number of GPUs") % {"value": repr(str(value)[:40])}
        faults.append(Fault(field, message, _range(0, MAX_GPUS)))
        return Decimal(0)
    return amount


def _whole(value: Any, field: str, least: int, faults: list[Fault]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_REPLICAS:
        message = _("%(value)s is not allowed") % {"value": repr(str(value)[:40])}
        faults.append(Fault(field, message, _range(least, MAX_REPLICAS)))
        return least
    return value


def _range(least: int, most: int) -> str:
    return _("a whole number from %(least)d to %(most)d") % {"least": least, "most": most}


def _inner(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def text_of(value: Any) -> str:
    """The value where it is text, else nothing."""
    return value if isinstance(value, str) else ""
