"""A graph's manifest → the gangs that its operators would make of it, as the engine's structs.

The manifest goes through the very functions that the simulated Dynamo operator, Grove and pod grouper apply. Pods that
do not exist yet have invented names; which of several equal pods goes where is not decided before they exist.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clusters import wire
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT
from clusters.operators.dynamo.graph import GraphError, read_graph
from clusters.operators.dynamo.render import pod_clique_set
from clusters.operators.grouping import GroupingError, group_pod
from clusters.operators.grove import names
from clusters.operators.grove.cliques import member_cliques, pod_cliques, scaling_groups
from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.grove.gangs import pod_gangs
from clusters.operators.grove.kai_backend import pod_group
from clusters.operators.grove.pods import pod_manifest
from clusters.operators.grove.topology import reference
from clusters.operators.objects import labels_of
from clusters.snapshot_rows import POD_COLUMNS, pod_of
from clusters.watcher.rows import COMPONENT_LABEL, pod_row
from core.errors import InvalidInput
from core.words import gettext as _
from scheduling.objects import read_pod_group
from scheduling.preview_structs import Gang
from scheduling.structs import Pod

Manifest = dict[str, Any]
PREVIEW_UID = "preview"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the operators look up: ClusterTopologyBindings by name, value per PriorityClass ("": the default).
    `own_backend`: Grove makes the pod groups itself, which then read other fields than KAI's podgrouper does."""

    bindings: Mapping[str, Manifest] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    own_backend: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    """The gangs of one graph, base gangs first, and the component of each pod by key."""

    gangs: tuple[Gang, ...]
    components: Mapping[str, str]


def render_gangs(manifest: Manifest, around: Surroundings, *, now: float) -> Rendered:
    """The gangs of a DynamoGraphDeployment. Raises `InvalidInput` for a graph that cannot be rendered, and for one
    that does not want Grove: its pods are no gang."""
    dgd = {**manifest, "metadata": {**manifest["metadata"], "uid": PREVIEW_UID}}
    try:
        graph = read_graph(dgd)
        bare = pod_clique_set(dgd, graph, kai=True)
    except GraphError as error:
        raise InvalidInput.of("spec", str(error)) from error
    if not graph.uses_grove:
        message = _("without Grove its pods are no gang")
        raise InvalidInput.of("metadata.annotations", message, "nvidia.com/enable-grove")
    metadata = {**bare["metadata"], "uid": PREVIEW_UID}
    pcs = {**bare, "metadata": metadata, "spec": defaulted_spec(bare["spec"])}
    cliques, groups = _cliques(pcs)
    pods = {clique["metadata"]["name"]: list(_pods(clique, cliques, around)) for clique in cliques}
    named = {name: [pod["metadata"]["name"] for pod in found] for name, found in pods.items()}
    owners = [pcs, {**dgd, "kind": DYNAMO_GRAPH_DEPLOYMENT.kind}]
    gangs = {gang["metadata"]["name"]: _existing(gang) for gang in pod_gangs(pcs, groups, named, around.bindings)}
    try:
        keys = {name: _pod_group(gang, owners, pods, around) for name, gang in gangs.items() if _has_pods(gang, pods)}
    except GroupingError as error:
        told = _("KAI’s pod grouper would refuse it: %(why)s") % {"why": error}
        raise InvalidInput.of("spec", told) from error
    return _rendered(cliques, pods, keys, now)


def _cliques(pcs: Manifest) -> tuple[list[Manifest], list[Manifest]]:
    """Every PodClique, and the scaling groups, as if they existed."""
    groups = [_existing(group) for group in scaling_groups(pcs)]
    cliques = [*pod_cliques(pcs), *(clique for group in groups for clique in member_cliques(pcs, group))]
    return [_existing(clique) for clique in cliques], groups


def _existing(obj: Manifest) -> Manifest:
    return {**obj, "metadata": {**obj["metadata"], "uid": PREVIEW_UID}}


def _pods(clique: Manifest, cliques: list[Manifest], around: Surroundings) -> Iterator[Manifest]:
    """Pods of one clique; they differ in their names alone."""
    minimum = {each["metadata"]["name"]: each["spec"].get("minAvailable", 1) for each in cliques}
    first = pod_manifest(clique, 0, own_backend=around.own_backend, min_available=minimum)
    for index in range(clique["spec"].get("replicas", 0)):
        yield {**first, "metadata": {**first["metadata"], "name": f"{clique['metadata']['name']}-{index}"}}


def _has_pods(gang: Manifest, pods: Mapping[str, list[Manifest]]) -> bool:
    return any(pods[member["name"]] for member in gang["spec"]["podgroups"])


def _pod_group(gang: Manifest, owners: list[Manifest], pods: Mapping[str, list[Manifest]], around: Surroundings) -> Any:
    """What Grove's own back-end or the pod grouper makes of a gang; its first pod stands for all."""
    if around.own_backend:
        topologies = {name: reference(binding) for name, binding in around.bindings.items()}
        return read_pod_group(pod_group(gang, _queue_of(owners[0]), topologies), around.priorities)
    first = next(pod for member in gang["spec"]["podgroups"] for pod in pods[member["name"]])
    grouping = group_pod(first, owners, gang, around.priorities)
    return read_pod_group(_named_after(grouping.pod_group, gang), around.priorities)


def _queue_of(pcs: Manifest) -> str:
    """The queue in Grove's own back-end: label or annotation of the PodCliqueSet, else of one of its cliques."""
    for each in (pcs["metadata"], *pcs["spec"]["template"]["cliques"]):
        found = (each.get("labels") or {}).get(names.QUEUE_LABEL) or (each.get("annotations") or {}).get(
            names.QUEUE_LABEL
        )
        if found:
            return str(found)
    return ""


def _named_after(group: Manifest, gang: Manifest) -> Manifest:
    metadata = {**group["metadata"], "name": gang["metadata"]["name"], "namespace": gang["metadata"]["namespace"]}
    return {**group, "metadata": metadata}


def _rendered(
    cliques: list[Manifest], pods: Mapping[str, list[Manifest]], groups: Mapping[str, Any], now: float
) -> Rendered:
    members: dict[str, list[Pod]] = {name: [] for name in groups}
    bases: dict[str, str] = {}
    components: dict[str, str] = {}
    for clique in cliques:
        name, labels = clique["metadata"]["name"], labels_of(clique)
        gang = labels[names.POD_GANG]
        if gang not in groups:
            continue
        bases[gang] = labels.get(names.BASE_POD_GANG, "")
        found = _structs(pods[name], groups[gang].key, name, now)
        members[gang] += found
        components |= dict.fromkeys((pod.key for pod in found), labels.get(COMPONENT_LABEL, ""))
    gangs = [
        Gang(
            group=msgspec.structs.replace(group, created=now),
            pods=tuple(members[name]),
            waits_for=groups[bases[name]].key if bases.get(name) else "",
        )
        for name, group in groups.items()
        if members[name]
    ]
    return Rendered(tuple(gangs), components)


def _structs(manifests: list[Manifest], group: str, subgroup: str, now: float) -> list[Pod]:
    """The engine's pods of one clique, read as the mirror would."""
    if not manifests:
        return []
    metadata = {"uid": PREVIEW_UID, "resourceVersion": "0", **manifests[0]["metadata"]}
    row = pod_row(msgspec.convert({**manifests[0], "metadata": metadata}, wire.PodObject))
    plain = pod_of(*(getattr(row, column) for column in POD_COLUMNS))
    first = msgspec.structs.replace(plain, podgroup=group, subgroup=subgroup, gated=False, phase="Pending", created=now)
    names_of = [manifest["metadata"]["name"] for manifest in manifests]
    return [msgspec.structs.replace(first, name=name, uid=f"{PREVIEW_UID}-{name}") for name in names_of]
