"""PodClique → Pods, with Grove's gate, environment and start-order init container. Pure."""

from collections.abc import Iterable, Mapping

from clusters.kinds import GROVE_POD_CLIQUE, GROVE_POD_CLIQUE_SET, POD, SECRET
from clusters.operators.grove import names
from clusters.operators.objects import Object, labels_of, owner_reference, spec_of

INIT_IMAGE = "ghcr.io/ai-dynamo/grove/grove-initc:v0.1.0-alpha.12"
INIT_CONTAINER = "grove-initc"
FROM_POD_INDEX = "metadata.labels['grove.io/podclique-pod-index']"
POD_INFO_VOLUME = "pod-info-vol"
TOKEN_VOLUME = "sa-token-secret-vol"  # noqa: S105 (a volume name)


def pod_manifest(clique: Object, index: int, *, own_backend: bool, min_available: Mapping[str, int]) -> Object:
    """The gated pod number `index` of a PodClique.

    `min_available` maps the cliques in `startsAfter` to how many of their pods must be ready.
    """
    metadata = clique["metadata"]
    set_name = labels_of(clique)[names.PART_OF]
    base = names.replica_name(set_name, int(labels_of(clique)[names.SET_INDEX]))
    labels = {**labels_of(clique), names.POD_CLIQUE: metadata["name"], names.POD_INDEX: str(index)}
    if own_backend:
        labels[names.SUBGROUP_LABEL] = metadata["name"]
    pod_metadata: Object = {
        "generateName": f"{metadata['name']}-",
        "namespace": metadata["namespace"],
        "labels": labels,
        "ownerReferences": [owner_reference(clique, GROVE_POD_CLIQUE)],
    }
    annotations = dict(metadata.get("annotations") or {})
    if own_backend:
        annotations |= {
            names.SKIP_PODGROUPER: "true",
            names.POD_GROUP_ANNOTATION: labels[names.POD_GANG],
        }
    if annotations:
        pod_metadata["annotations"] = annotations
    spec = _pod_spec(clique, base, set_name, min_available)
    spec |= {
        "hostname": f"{metadata['name']}-{index}",
        "subdomain": base,
        "schedulingGates": [{"name": names.GATE}],
    }
    return {"apiVersion": POD.api_version, "kind": POD.kind, "metadata": pod_metadata, "spec": spec}


def free_indices(pods: Iterable[Object], wanted: int) -> list[int]:
    """Pod indices below `wanted` that no pod holds, ascending."""
    taken = {int(labels_of(pod).get(names.POD_INDEX, -1)) for pod in pods}
    return [index for index in range(wanted) if index not in taken]


def is_gated(pod: Object) -> bool:
    return any(gate["name"] == names.GATE for gate in spec_of(pod).get("schedulingGates") or ())


def _pod_spec(clique: Object, base: str, set_name: str, min_available: Mapping[str, int]) -> Object:
    metadata = clique["metadata"]
    service = f"{base}.{metadata['namespace']}.svc.cluster.local"
    environment = [
        {"name": "GROVE_PCS_NAME", "value": set_name},
        {"name": "GROVE_PCS_INDEX", "value": labels_of(clique)[names.SET_INDEX]},
        {"name": "GROVE_PCLQ_NAME", "value": metadata["name"]},
        {"name": "GROVE_HEADLESS_SERVICE", "value": service},
        {
            "name": "GROVE_PCLQ_POD_INDEX",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": FROM_POD_INDEX}},
        },
    ]
    spec = dict(clique["spec"]["podSpec"])
    spec["schedulerName"] = spec.get("schedulerName") or names.KAI_SCHEDULER
    spec["containers"] = [
        {**container, "env": [*environment, *(container.get("env") or ())]}
        for container in spec.get("containers") or ()
    ]
    if clique["spec"].get("startsAfter"):
        arguments = [f"--podcliques={name}:{min_available[name]}" for name in clique["spec"]["startsAfter"]]
        spec["initContainers"] = [*(spec.get("initContainers") or ()), _start_order_container(arguments)]
        spec["volumes"] = [*(spec.get("volumes") or ()), *_start_order_volumes(set_name)]
    return spec


def _start_order_container(arguments: list[str]) -> Object:
    return {
        "name": INIT_CONTAINER,
        "image": INIT_IMAGE,
        "args": arguments,
        "resources": {},
        "volumeMounts": [
            {"name": POD_INFO_VOLUME, "mountPath": "/var/grove/pod-info", "readOnly": True},
            {
                "name": TOKEN_VOLUME,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "readOnly": True,
            },
        ],
    }


def start_order_token(pcs: Object) -> Object:
    """The secret with which the start-order init container asks for pods; Grove makes one per PodCliqueSet."""
    name = pcs["metadata"]["name"]
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {
            "name": _token_name(name),
            "namespace": pcs["metadata"]["namespace"],
            "labels": {**names.default_labels(name), names.COMPONENT: "pod-clique-set-service-account-token-secret"},
            "ownerReferences": [owner_reference(pcs, GROVE_POD_CLIQUE_SET)],
        },
        "type": "Opaque",
        "data": {"token": "c2ltdWxhdGVk"},
    }


def _token_name(set_name: str) -> str:
    return f"{set_name}-ic-sat"


def _start_order_volumes(set_name: str) -> list[Object]:
    items = [
        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        {
            "path": "podgangname",
            "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{names.POD_GANG}']"},
        },
    ]
    return [
        {"name": TOKEN_VOLUME, "secret": {"secretName": _token_name(set_name), "defaultMode": 420}},
        {"name": POD_INFO_VOLUME, "downwardAPI": {"items": items, "defaultMode": 420}},
    ]
