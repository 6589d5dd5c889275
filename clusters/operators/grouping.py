"""Which PodGroup a pod belongs to: the groupers of KAI's hub, as pure functions of pod, owners and PodGang.

Recorded in golden/grove/podgrouper-p*. Covered: pods without owner, Deployments, Jobs, Grove (with or without a
DynamoGraphDeployment on top) and the default grouper for everything else.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from clusters.kinds import GROVE_POD_GANG, KAI_POD_GROUP, POD
from clusters.operators.grove.gangs import kai_constraint, min_member, sub_groups
from clusters.operators.objects import ADDED_BY_KUBECTL, Object, annotations_of, labels_of, spec_of, without_empty
from scheduling.durations import format_duration, parse_duration

QUEUE = "kai.scheduler/queue"
NODE_POOL = "kai.scheduler/node-pool"
SKIP = "kai.scheduler/skip-podgrouper"
POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
TOP_OWNER = "kai.scheduler/top-owner-metadata"
MIN_MEMBER = "kai.scheduler/batch-min-member"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
PRIORITY = "priorityClassName"
TOPOLOGY_FIELDS = {
    "topology": "kai.scheduler/topology",
    "requiredTopologyLevel": "kai.scheduler/topology-required-placement",
    "preferredTopologyLevel": "kai.scheduler/topology-preferred-placement",
}
DURATION_FIELDS = {
    "preemptionDelay": "kai.scheduler/preemption-delay",
    "stalenessGracePeriod": "kai.scheduler/staleness-grace-period",
}
DEFAULT_QUEUE = "default-queue"
DEFAULT_PRIORITY = "train"
PRIORITY_BY_KIND = {"Deployment": "inference", "Notebook": "build", "Service": "inference"}


class GroupingError(Exception):
    """The pod cannot be grouped; the text is that of the event PodGrouperWarning."""


class Grouping(NamedTuple):
    """The PodGroup manifest of a pod and the subgroup it belongs to ("" for none)."""

    pod_group: Object
    subgroup: str


def is_skipped(pod: Object, owners: Iterable[Object]) -> bool:
    """Whether the pod or one of its owners opts out; its PodGroup is then somebody else's."""
    return any(annotations_of(obj).get(SKIP) == "true" for obj in (pod, *owners))


def gang_name(pod: Object) -> str:
    """The PodGang that a Grove pod belongs to, "" for other pods."""
    return labels_of(pod).get("grove.io/podgang", "")


def group_pod(pod: Object, owners: Sequence[Object], gang: Object | None, priority_classes: Container[str]) -> Grouping:
    """`owners` are the objects up to the top owner, nearest first. Raises GroupingError."""
    owners, top = _skip_top_owner(owners)
    if top is not None and top["kind"] in ("PodCliqueSet", "PodGangSet"):
        if gang is None:
            raise GroupingError(
                f"failed to fetch PodGang: {pod['metadata']['namespace']}/{gang_name(pod)}. "
                f'Err: podgangs.scheduler.grove.io "{gang_name(pod)}" not found'
            )
        return _grove(pod, top, gang)
    return Grouping(_plain(pod, [*owners[:-1], top] if top else [], priority_classes), "")


def updated(existing: Object, desired: Object) -> Object:
    """What the podgrouper makes of a PodGroup that exists already (golden/grove/podgrouper-p29).

    Queue, node pool and what others set stay; the topology constraint follows unless the owner says nothing.
    """
    metadata = dict(existing["metadata"])
    wanted = {k: v for k, v in labels_of(desired).items() if k not in (QUEUE, NODE_POOL)}
    metadata["labels"] = {**labels_of(existing), **wanted}
    metadata["annotations"] = {**annotations_of(existing), **annotations_of(desired)}
    keep = ("queue", "markUnschedulable", "schedulingBackoff")
    spec = {**desired["spec"], **{k: v for k, v in existing["spec"].items() if k in keep}}
    if not spec.get("topologyConstraint") and existing["spec"].get("topologyConstraint"):
        spec["topologyConstraint"] = existing["spec"]["topologyConstraint"]
    return {**existing, "metadata": metadata, "spec": spec}


def _skip_top_owner(owners: Sequence[Object]) -> tuple[Sequence[Object], Object | None]:
    """A DynamoGraphDeployment lends its labels and annotations to the owner below, which counts as the top."""
    if not owners:
        return owners, None
    top = owners[-1]
    if top["kind"] != "DynamoGraphDeployment" or len(owners) < 2:
        return owners, top
    below = owners[-2]
    metadata = {
        **below["metadata"],
        "labels": {**labels_of(top), **labels_of(below)},
        "annotations": {**annotations_of(top), **annotations_of(below)},
    }
    return owners[:-1], {**below, "metadata": metadata}


def _grove(pod: Object, top: Object, gang: Object) -> Grouping:
    topology = _gang_topology(gang)
    _check_gang(gang)
    constraint = kai_constraint(gang["spec"].get("topologyConstraint"), topology)
    for field, annotation in TOPOLOGY_FIELDS.items():
        if not constraint.get(field) and annotations_of(top).get(annotation):
            constraint[field] = annotations_of(top)[annotation]
    durations = {
        "preemptionDelay": _duration((gang, top), DURATION_FIELDS["preemptionDelay"]),
        "stalenessGracePeriod": _duration((gang,), DURATION_FIELDS["stalenessGracePeriod"]),
    }
    priority = labels_of(top).get(PRIORITY) or gang["spec"].get("priorityClassName") or DEFAULT_PRIORITY
    spec: Object = {
        "minMember": min_member(gang),
        "queue": _queue(gang, pod),
        "priorityClassName": priority,
        "subGroups": sub_groups(gang, topology),
        "topologyConstraint": constraint,
        **without_empty({**durations, "preemptibility": labels_of(top).get(PREEMPTIBILITY)}),
    }
    owner = {**gang, "apiVersion": GROVE_POD_GANG.api_version, "kind": GROVE_POD_GANG.kind}
    annotations = {**annotations_of(top), **annotations_of(gang)}
    labels = {**labels_of(top), **labels_of(gang)}
    manifest = _manifest(owner, owner, pod, labels, annotations)
    return Grouping({**manifest, "spec": spec}, _subgroup(gang, pod))


def _gang_topology(gang: Object) -> str:
    annotations = annotations_of(gang)
    topology = annotations.get("grove.io/topology-name") or annotations.get(TOPOLOGY_FIELDS["topology"], "")
    spec = gang["spec"]
    parts = [spec, *(spec.get("topologyConstraintGroupConfigs") or ()), *(spec.get("podgroups") or ())]
    if not topology and any((part.get("topologyConstraint") or {}).get("packConstraint") for part in parts):
        raise GroupingError(
            f"failed to apply topology constraints from PodGang {_full_name(gang)}. Err: failed to parse topology "
            "from PodGang, Err: topology name cannot be empty when topology constraints are defined"
        )
    return topology


def _check_gang(gang: Object) -> None:
    namespace = gang["metadata"]["namespace"]
    for index, group in enumerate(gang["spec"].get("podgroups") or ()):
        prefix = f"failed to parse spec.podgroups[{index}] from PodGang {_full_name(gang)}. Err: "
        if group.get("minReplicas", 0) <= 0:
            raise GroupingError(f"{prefix}invalid 'minReplicas' field. Must be greater than 0")
        for reference in group.get("podReferences") or ():
            if reference["namespace"] != namespace:
                raise GroupingError(
                    f"{prefix}cross-namespace pod reference not allowed: pod {reference['namespace']}/"
                    f"{reference['name']} cannot be referenced from PodGang in namespace {namespace}"
                )


def _subgroup(gang: Object, pod: Object) -> str:
    for group in gang["spec"].get("podgroups") or ():
        if any(ref["name"] == pod["metadata"]["name"] for ref in group.get("podReferences") or ()):
            return str(group["name"])
    return ""


def _plain(pod: Object, owners: Sequence[Object], priority_classes: Container[str]) -> Object:
    """The default, Deployment, Job and bare-pod groupers."""
    as_owner = {**pod, "apiVersion": POD.api_version, "kind": POD.kind}
    top = owners[-1] if owners else as_owner
    holder = as_owner if top["kind"] == "Deployment" else top
    constraint = {
        field: annotations_of(top)[annotation]
        for field, annotation in TOPOLOGY_FIELDS.items()
        if annotations_of(top).get(annotation)
    }
    durations = {field: _duration((top, pod), key) for field, key in DURATION_FIELDS.items()}
    spec: Object = {
        "minMember": _batch_min_member(top),
        "queue": _queue(top, pod),
        "priorityClassName": _priority(pod, owners, priority_classes),
        "topologyConstraint": constraint,
        **without_empty({**durations, "preemptibility": _first_label((*owners, pod), PREEMPTIBILITY)}),
    }
    return {**_manifest(holder, top, pod, labels_of(top), annotations_of(top)), "spec": spec}


def _batch_min_member(top: Object) -> int:
    text = annotations_of(top).get(MIN_MEMBER)
    if top["kind"] != "Job" or text is None:
        return 1
    try:
        return int(text)
    except ValueError as error:
        raise GroupingError(
            f'invalid min-member annotation value: strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from error


def _priority(pod: Object, owners: Sequence[Object], priority_classes: Container[str]) -> str:
    """Nearest owner's label, then the pod's label and class, then the owners above; unknown classes do not count."""
    asked = [labels_of(owners[0]).get(PRIORITY)] if owners else []
    asked += [labels_of(pod).get(PRIORITY), spec_of(pod).get("priorityClassName")]
    asked += [labels_of(owner).get(PRIORITY) for owner in owners[1:]]
    for name in asked:
        if name and name in priority_classes:
            return name
    return PRIORITY_BY_KIND.get(owners[-1]["kind"], DEFAULT_PRIORITY) if owners else DEFAULT_PRIORITY


def _queue(owner: Object, pod: Object) -> str:
    for labels in (labels_of(owner), labels_of(pod)):
        if labels.get(QUEUE):
            return labels[QUEUE]
    project = labels_of(owner).get("project") or labels_of(pod).get("project")
    if not project:
        return DEFAULT_QUEUE
    pool = labels_of(pod).get(NODE_POOL)
    return f"{project}-{pool}" if pool else project


def _manifest(
    owner: Object, top: Object, pod: Object, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Object:
    group, _, version = top["apiVersion"].rpartition("/")
    described = (
        f"name: {top['metadata']['name']}\nuid: {top['metadata']['uid']}\n"
        f"group: {group or chr(34) * 2}\nversion: {version}\nkind: {top['kind']}\n"
    )
    all_labels = dict(labels)
    if NODE_POOL not in all_labels and labels_of(pod).get(NODE_POOL):
        all_labels[NODE_POOL] = labels_of(pod)[NODE_POOL]
    kept = {key: value for key, value in annotations.items() if key != ADDED_BY_KUBECTL}
    return {
        "apiVersion": KAI_POD_GROUP.api_version,
        "kind": KAI_POD_GROUP.kind,
        "metadata": {
            "name": f"pg-{owner['metadata']['name']}-{owner['metadata']['uid']}",
            "namespace": pod["metadata"]["namespace"],
            **without_empty({"labels": all_labels}),
            "annotations": {**kept, TOP_OWNER: described},
            "ownerReferences": [
                {
                    "apiVersion": owner["apiVersion"],
                    "kind": owner["kind"],
                    "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"],
                }
            ],
        },
    }


def _first_label(objects: Iterable[Object], label: str) -> str:
    return next((labels_of(obj)[label] for obj in objects if labels_of(obj).get(label)), "")


def _duration(objects: Iterable[Object], annotation: str) -> str:
    """The first readable duration in Go's own form; an unreadable one is ignored (KAI logs it)."""
    for obj in objects:
        text = annotations_of(obj).get(annotation)
        if text:
            try:
                return format_duration(parse_duration(text))
            except ValueError:
                return ""
    return ""


def _full_name(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
