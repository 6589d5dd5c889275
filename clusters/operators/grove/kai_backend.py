"""Grove's own KAI back-end: PodGang → PodGroup of the same name (golden/grove/00–24, SURPRISES §8.7–8.10). Pure."""

from clusters.kinds import GROVE_POD_GANG, KAI_POD_GROUP
from clusters.operators.grove import names
from clusters.operators.grove.gangs import kai_constraint, min_member, sub_groups
from clusters.operators.objects import Object, annotations_of, labels_of, owner_reference


def pod_group(gang: Object, queue: str, topologies: dict[str, str] | None = None) -> Object:
    """The PodGroup of a PodGang. `topologies` maps a binding's name to its KAI Topology where they differ.

    Only the PodGang's pack constraints count; kai.scheduler/* annotations are copied without effect.
    """
    binding = annotations_of(gang).get(names.TOPOLOGY_NAME, "")
    topology = (topologies or {}).get(binding, binding)
    spec: Object = {
        "queue": queue,
        "minMember": min_member(gang),
        "subGroups": sub_groups(gang, topology),
        "topologyConstraint": kai_constraint(gang["spec"].get("topologyConstraint"), topology),
    }
    if gang["spec"].get("priorityClassName"):
        spec["priorityClassName"] = gang["spec"]["priorityClassName"]
    return {
        "apiVersion": KAI_POD_GROUP.api_version,
        "kind": KAI_POD_GROUP.kind,
        "metadata": {
            "name": gang["metadata"]["name"],
            "namespace": gang["metadata"]["namespace"],
            "labels": dict(labels_of(gang)),
            "annotations": {**annotations_of(gang), names.SKIP_PODGROUPER: "true"},
            "ownerReferences": [owner_reference(gang, GROVE_POD_GANG)],
        },
        "spec": spec,
    }
