"""Puts a fleet into a cluster: through any API, or straight into an empty store (large ones in a second)."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Protocol

from clusters.kinds import DEPLOYMENT, NODE, POD
from clusters.operators.objects import merged_conditions
from core.moments import rfc3339
from simulator.actors.kubelet.lifecycle import Step, address_of, status_at
from simulator.client import KubeClient, KubeError, Object
from simulator.fleets.hardware import node_address
from simulator.fleets.large import large
from simulator.fleets.platform import Entry
from simulator.fleets.small import empty, small

FLEETS: dict[str, Callable[[], Iterable[Entry]]] = {"small": small, "empty": empty, "large": large}

CollectionName = tuple[str, str]
_SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835
"""Odd, so that consecutive versions give different and different-looking UIDs."""
_RUNNING: dict[int, tuple[list[Object], Object]] = {}
"""Status of a running pod per container list (kept alive here, so that its id stays its own)."""


class BulkStore(Protocol):
    """What `restore_fleet` needs of `simulator.api.store.Store`."""

    resource_version: int

    def restore(self, name: CollectionName, bodies: list[Object], resource_version: int) -> None: ...


async def load_fleet(client: KubeClient, name: str) -> int:
    """Creates what is missing of the fleet; returns how many objects were made. Raises KeyError for no such fleet."""
    made = 0
    for kind, manifest in FLEETS[name]():
        body = complete(kind.kind, manifest)
        namespace = body["metadata"].get("namespace")
        try:
            await client.create(kind, body, namespace)
        except KubeError as error:
            if error.code != 409:
                raise
            continue
        made += 1
        if "status" in body and kind is not NODE:
            status = {"status": body["status"]}
            await client.patch(kind, body["metadata"]["name"], namespace, status, subresource="status")
    return made


def restore_fleet(store: BulkStore, name: str) -> Iterator[Entry]:
    """Fills the empty collections of nodes, pods and pod groups at once; yields the rest, to be created as usual."""
    now = rfc3339(datetime.now(UTC))
    bulk: dict[CollectionName, list[Object]] = {}
    version = store.resource_version
    for kind, manifest in FLEETS[name]():
        collection = (kind.group, kind.plural)
        if collection[1] not in ("nodes", "pods", "podgroups"):
            yield kind, manifest
            continue
        body = complete(kind.kind, manifest)
        version += 1
        body["metadata"] = {
            **body["metadata"],
            "uid": str(uuid.UUID(int=version * _SPREAD % 2**128, version=4)),
            "creationTimestamp": now,
            "resourceVersion": str(version),
            "generation": 1,
        }
        bulk.setdefault(collection, []).append(body)
    for collection, bodies in bulk.items():
        store.restore(collection, bodies, version)


def complete(kind: str, manifest: Object) -> Object:
    """The manifest with the status it has in a cluster that has been running for a while."""
    if kind == POD.kind and manifest["spec"].get("nodeName"):
        return {**manifest, "status": _running(manifest)}
    if kind == DEPLOYMENT.kind:
        return {**manifest, "status": _available(manifest)}
    return dict(manifest)


def _running(pod: Object) -> Object:
    """Pods of one template share everything but their addresses."""
    containers = pod["spec"]["containers"]
    known = _RUNNING.get(id(containers))
    if known is None or known[0] is not containers:
        now = rfc3339(datetime.now(UTC))
        identified = {**pod, "metadata": {"uid": pod["metadata"]["name"], **pod["metadata"]}}
        status, conditions = status_at(Step.READY, identified, now)
        shared = {**status, "qosClass": "BestEffort", "conditions": merged_conditions((), conditions, now)}
        known = _RUNNING[id(containers)] = (containers, shared)
    address = address_of(f"{pod['metadata'].get('namespace')}/{pod['metadata']['name']}", 10)
    node = node_address(pod["spec"]["nodeName"])
    return {**known[1], "hostIP": node, "hostIPs": [{"ip": node}], "podIP": address, "podIPs": [{"ip": address}]}


def _available(deployment: Object) -> Object:
    replicas = deployment["spec"]["replicas"]
    condition = {
        "type": "Available",
        "status": "True",
        "reason": "MinimumReplicasAvailable",
        "message": "Deployment has minimum availability.",
    }
    now = rfc3339(datetime.now(UTC))
    return {
        "observedGeneration": 1,
        "replicas": replicas,
        "updatedReplicas": replicas,
        "readyReplicas": replicas,
        "availableReplicas": replicas,
        "conditions": [{**condition, "lastTransitionTime": now, "lastUpdateTime": now}],
    }
