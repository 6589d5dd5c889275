"""PodCliqueSet → PodCliques, scaling groups and headless services, as recorded in golden/grove. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from clusters.kinds import GROVE_POD_CLIQUE, GROVE_POD_CLIQUE_SET, GROVE_SCALING_GROUP, SERVICE
from clusters.operators.grove import names
from clusters.operators.objects import Object, fingerprint, owner_reference, without_empty

FROM_GROUP_LABEL = "metadata.labels['grove.io/podcliquescalinggroup']"
FROM_GROUP_INDEX_LABEL = "metadata.labels['grove.io/podcliquescalinggroup-replica-index']"


class Placement(NamedTuple):
    """Which gang a clique belongs to; `base` is set when that gang waits for the base gang."""

    gang: str
    base: str = ""


def generation_hash(spec: Object) -> str:
    """Hash of all clique templates: PodCliqueSet `status.currentGenerationHash`."""
    return fingerprint([template_hash(spec, clique) for clique in spec["template"]["cliques"]])


def template_hash(spec: Object, clique: Object) -> str:
    """Changes when pods of the clique have to be made anew; replicas and names do not count."""
    template = spec["template"]
    parts = [clique.get("labels") or {}, clique.get("annotations") or {}, clique["spec"]["podSpec"]]
    return fingerprint([*parts, template.get("priorityClassName", "")])


def grouped_cliques(template: Object) -> set[str]:
    """Names of the cliques that some scaling group holds."""
    return {name for group in template.get("podCliqueScalingGroups") or () for name in group["cliqueNames"]}


def headless_service(pcs: Object, replica: int) -> Object:
    """The service behind a replica's pod host names (`spec.subdomain`)."""
    set_name = pcs["metadata"]["name"]
    config = pcs["spec"]["template"].get("headlessServiceConfig") or {}
    return {
        "apiVersion": SERVICE.api_version,
        "kind": SERVICE.kind,
        "metadata": {
            "name": names.replica_name(set_name, replica),
            "namespace": pcs["metadata"]["namespace"],
            "labels": {
                **names.default_labels(set_name),
                names.COMPONENT: "pcs-headless-service",
                names.NAME: names.replica_name(set_name, replica),
                names.SET_INDEX: str(replica),
            },
            "ownerReferences": [owner_reference(pcs, GROVE_POD_CLIQUE_SET)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": bool(config.get("publishNotReadyAddresses")),
            "selector": {names.PART_OF: set_name, names.SET_INDEX: str(replica)},
        },
    }


def pod_cliques(pcs: Object) -> Iterator[Object]:
    """The PodCliques that the PodCliqueSet itself owns, for all its replicas. `pcs.spec` is defaulted."""
    spec = pcs["spec"]
    grouped = grouped_cliques(spec["template"])
    owner = owner_reference(pcs, GROVE_POD_CLIQUE_SET)
    for replica in range(spec["replicas"]):
        placement = Placement(names.replica_name(pcs["metadata"]["name"], replica))
        for clique in spec["template"]["cliques"]:
            if clique["name"] in grouped:
                continue
            name = names.clique_name(pcs["metadata"]["name"], replica, clique["name"])
            manifest = _pod_clique(pcs, clique, replica, name, placement)
            manifest["metadata"]["labels"][names.COMPONENT] = "pcs-podclique"
            manifest["metadata"]["ownerReferences"] = [owner]
            yield manifest


def scaling_groups(pcs: Object) -> Iterator[Object]:
    """The PodCliqueScalingGroups of all replicas. `pcs.spec` is defaulted."""
    set_name = pcs["metadata"]["name"]
    for replica in range(pcs["spec"]["replicas"]):
        for group in pcs["spec"]["template"].get("podCliqueScalingGroups") or ():
            name = names.scaling_group_name(set_name, replica, group["name"])
            yield {
                "apiVersion": GROVE_SCALING_GROUP.api_version,
                "kind": GROVE_SCALING_GROUP.kind,
                "metadata": {
                    "name": name,
                    "namespace": pcs["metadata"]["namespace"],
                    "labels": {
                        **names.default_labels(set_name),
                        names.COMPONENT: "pcs-podcliquescalinggroup",
                        names.NAME: name,
                        names.SET_INDEX: str(replica),
                    },
                    "finalizers": [names.SCALING_GROUP_FINALIZER],
                    "ownerReferences": [owner_reference(pcs, GROVE_POD_CLIQUE_SET)],
                },
                "spec": {
                    "cliqueNames": list(group["cliqueNames"]),
                    "minAvailable": group["minAvailable"],
                    "replicas": group["replicas"],
                },
            }


def group_config(pcs: Object, scaling_group: Object) -> Object:
    """The template entry of a PodCliqueScalingGroup. Raises KeyError when the template lost it."""
    replica = scaling_group["metadata"]["labels"][names.SET_INDEX]
    prefix = names.scaling_group_name(pcs["metadata"]["name"], int(replica), "")
    wanted = scaling_group["metadata"]["name"].removeprefix(prefix)
    for group in pcs["spec"]["template"].get("podCliqueScalingGroups") or ():
        if group["name"] == wanted:
            return dict(group)
    raise KeyError(wanted)


def member_cliques(pcs: Object, scaling_group: Object) -> Iterator[Object]:
    """The PodCliques of every replica of one scaling group. `pcs.spec` is defaulted."""
    replica = int(scaling_group["metadata"]["labels"][names.SET_INDEX])
    cliques = {clique["name"]: clique for clique in pcs["spec"]["template"]["cliques"]}
    members = [cliques[name] for name in scaling_group["spec"]["cliqueNames"]]
    pods = sum(clique["spec"]["replicas"] for clique in members)
    for index in range(scaling_group["spec"]["replicas"]):
        placement = group_placement(pcs, scaling_group, index)
        for clique in members:
            name = names.member_clique_name(scaling_group["metadata"]["name"], index, clique["name"])
            manifest = _pod_clique(pcs, clique, replica, name, placement)
            metadata = manifest["metadata"]
            metadata["labels"] |= {
                names.COMPONENT: "pcsg-podclique",
                names.SCALING_GROUP: scaling_group["metadata"]["name"],
                names.SCALING_GROUP_INDEX: str(index),
            }
            metadata["ownerReferences"] = [owner_reference(scaling_group, GROVE_SCALING_GROUP)]
            manifest["spec"]["podSpec"] = _with_group_environment(manifest["spec"]["podSpec"], pods)
            yield manifest


def group_placement(pcs: Object, scaling_group: Object, index: int) -> Placement:
    """Replicas below minAvailable belong to the base gang, each one above to a gang of its own."""
    base = names.replica_name(pcs["metadata"]["name"], int(scaling_group["metadata"]["labels"][names.SET_INDEX]))
    min_available = scaling_group["spec"]["minAvailable"]
    if index < min_available:
        return Placement(base)
    return Placement(names.scaled_gang_name(scaling_group["metadata"]["name"], index, min_available), base)


def _pod_clique(pcs: Object, clique: Object, replica: int, name: str, placement: Placement) -> Object:
    set_name = pcs["metadata"]["name"]
    labels = {
        **(clique.get("labels") or {}),
        **names.default_labels(set_name),
        names.NAME: name,
        names.TEMPLATE_HASH: template_hash(pcs["spec"], clique),
        names.SET_INDEX: str(replica),
        names.POD_GANG: placement.gang,
    }
    if placement.base:
        labels[names.BASE_POD_GANG] = placement.base
    spec = without_empty(
        {
            "replicas": clique["spec"]["replicas"],
            "minAvailable": clique["spec"]["minAvailable"],
            "roleName": clique["spec"]["roleName"],
            "startsAfter": _starts_after(pcs, clique, replica),
            "autoScalingConfig": clique["spec"].get("autoScalingConfig"),
        }
    )
    metadata = without_empty({"annotations": clique.get("annotations"), "labels": labels})
    return {
        "apiVersion": GROVE_POD_CLIQUE.api_version,
        "kind": GROVE_POD_CLIQUE.kind,
        "metadata": {
            "name": name,
            "namespace": pcs["metadata"]["namespace"],
            "finalizers": [names.CLIQUE_FINALIZER],
            **metadata,
        },
        "spec": {**spec, "podSpec": dict(clique["spec"]["podSpec"])},
    }


def _starts_after(pcs: Object, clique: Object, replica: int) -> list[str]:
    """Full names of the cliques whose pods have to be ready first."""
    template = pcs["spec"]["template"]
    order = [other["name"] for other in template["cliques"]]
    if template["cliqueStartupType"] == "CliqueStartupTypeInOrder":
        position = order.index(clique["name"])
        earlier = order[position - 1 : position] if position else []
    elif template["cliqueStartupType"] == "CliqueStartupTypeExplicit":
        earlier = list(clique["spec"].get("startsAfter") or ())
    else:
        earlier = []
    return [name for other in earlier for name in _full_names(pcs, other, replica)]


def _full_names(pcs: Object, clique: str, replica: int) -> list[str]:
    set_name = pcs["metadata"]["name"]
    for group in pcs["spec"]["template"].get("podCliqueScalingGroups") or ():
        if clique in group["cliqueNames"]:
            full = names.scaling_group_name(set_name, replica, group["name"])
            return [names.member_clique_name(full, index, clique) for index in range(group["minAvailable"])]
    return [names.clique_name(set_name, replica, clique)]


def _with_group_environment(pod_spec: Object, pods: int) -> Object:
    environment = [
        {"name": "GROVE_PCSG_NAME", "valueFrom": {"fieldRef": {"fieldPath": FROM_GROUP_LABEL}}},
        {"name": "GROVE_PCSG_TEMPLATE_NUM_PODS", "value": str(pods)},
        {"name": "GROVE_PCSG_INDEX", "valueFrom": {"fieldRef": {"fieldPath": FROM_GROUP_INDEX_LABEL}}},
    ]
    changed = dict(pod_spec)
    for part in ("containers", "initContainers"):
        if pod_spec.get(part):
            changed[part] = [
                {**container, "env": [*(container.get("env") or ()), *environment]} for container in pod_spec[part]
            ]
    return changed
