"""Roles of which the cluster's graph asks for fewer pods than its gang must start with: no waiting brings those."""

import copy
from collections.abc import Mapping
from typing import Any

from core.errors import InvalidInput
from scheduling.structs import Pod
from workloads import observed
from workloads.components import Component
from workloads.graph import component_path, parse_graph
from workloads.models import Workload
from workloads.placement import surroundings_of
from workloads.placement_gangs import render_gangs


def scaled_below(workload: Workload) -> dict[str, Pod]:
    """A pod of each such role, as it would be made, by the name of its subgroup. 1 query, 4 where there are any."""
    manifest = observed.graph_of(workload)
    if manifest is None:
        return {}
    try:
        low = [each for each in parse_graph(manifest).components if _is_below(each)]
        if not low:
            return {}
        rendered = render_gangs(_raised(manifest, low), surroundings_of(workload.cluster), now=0.0)
    except InvalidInput:  # a graph of others that cannot be read
        return {}
    names = {each.name for each in low}
    pods = (pod for gang in rendered.gangs for pod in gang.pods)
    return {pod.subgroup: pod for pod in pods if rendered.components[pod.key] in names}


def _is_below(component: Component) -> bool:
    """Whether a component that is no scaling group asks for less than its gang's minimum."""
    return component.nodes == 1 and component.replicas < _least(component)


def _least(component: Component) -> int:
    """Replicas that must start together; the operator's default is 1."""
    return component.min_available or 1


def _raised(manifest: Mapping[str, Any], low: list[Component]) -> dict[str, Any]:
    """The graph with these components at their minimum."""
    raised: dict[str, Any] = copy.deepcopy(dict(manifest))
    for each in low:
        entry: Any = raised
        for step in component_path(raised, each.name):
            entry = entry[step]
        entry["replicas"] = _least(each)
    return raised
