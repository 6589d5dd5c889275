"""Objects of a fleet as the API server lists them, as rows, and as the simulated scheduler reads them."""

import asyncio
import datetime as dt
from typing import Any

import msgspec

from clusters.kinds import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    Kind,
)
from clusters.models import Cluster
from clusters.snapshot_rows import known_pod_labels
from clusters.watcher import store
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Batch
from clusters.watcher.scheduling import DEFAULT_TOLERATIONS, REQUIRED
from scheduling.structs import Snapshot
from simulator.actors.informer import InformerSet
from simulator.actors.scheduler.cache import KINDS, SchedulerCache
from simulator.api.bootstrap import bootstrap
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from simulator.fleets.load import load_fleet

NOW = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
ME = "watcher-1"
STREAMS = {kind.name: kind for kind in OBSERVED}
GPU = "nvidia.com/gpu"
ALL = (*KINDS, KAI_SCHEDULING_SHARD)

Entry = tuple[Kind, dict[str, Any]]
Listed = dict[Kind, list[dict[str, Any]]]


def listed(fleet: str, *more: Entry) -> Listed:
    """The objects of a fleet, and these, as the simulated API server lists them."""

    async def run() -> Listed:
        server = Server()
        bootstrap(server)
        client = InProcessClient(server)
        await load_fleet(client, fleet)
        for kind, given in more:
            manifest, namespace = dict(given), given["metadata"].get("namespace")
            status = manifest.pop("status", None)
            await client.create(kind, manifest, namespace)
            if status:
                name = manifest["metadata"]["name"]
                await client.patch(kind, name, namespace, {"status": status}, subresource="status")
        found = {kind: (await client.list(kind)).items for kind in ALL}
        server.close()
        return found

    return asyncio.run(run())


def seen_by_the_scheduler(objects: Listed, pool: str = "") -> Snapshot:
    informers = InformerSet(None)  # type: ignore[arg-type]  # it asks no cluster here
    cache = SchedulerCache(informers)
    for kind in KINDS:
        for item in objects[kind]:
            informers.of(kind).store(item)
    return cache.snapshot(pool, NOW.timestamp())


def mirror(cluster: Cluster, objects: Listed) -> Cluster:
    """Write the objects into rows as the watcher does."""
    assert store.claim(cluster.pk, ME)
    for kind, items in objects.items():
        stream = STREAMS[kind.plural]
        decoded = [msgspec.convert(item, stream.struct) for item in items]
        kept = [item for item in decoded if stream.keep(item)]
        uids = [i.metadata["uid"] if isinstance(i.metadata, dict) else i.metadata.uid for i in kept]
        store.write_batch(cluster.pk, ME, stream, Batch(dict(zip(uids, kept, strict=True))))
    cluster.refresh_from_db()
    return cluster


METADATA = {"name": "odd", "namespace": "sandbox", "uid": "odd", "resourceVersion": "1"}


def odd(kind: Kind, spec: Any) -> dict[str, Any]:
    """An object that a CRD without a schema lets in."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": METADATA, "spec": spec}


def comparable(snapshot: Snapshot) -> Any:
    """Lists sorted by name; pods that the mirror says it does not know are left out, as are labels and the tolerations
    of every pod, which it does not keep."""
    pods = []
    for pod in snapshot.pods:
        if not pod.podgroup and not pod.requests.gpu and not pod.gpu_fraction:
            continue
        kept = {key: value for key, value in pod.labels.items() if key in known_pod_labels()}
        spread = pod.anti_affinity or pod.pod_affinity
        tolerations = tuple(entry for entry in pod.tolerations if entry.key not in DEFAULT_TOLERATIONS)
        pods.append(msgspec.structs.replace(pod, labels=pod.labels if spread else kept, tolerations=tolerations))
    return msgspec.to_builtins(
        msgspec.structs.replace(
            snapshot,
            nodes=tuple(sorted(snapshot.nodes, key=lambda node: node.name)),
            queues=tuple(sorted(snapshot.queues, key=lambda queue: queue.name)),
            podgroups=tuple(sorted(snapshot.podgroups, key=lambda group: group.key)),
            pods=tuple(sorted(pods, key=lambda pod: pod.key)),
            topologies=tuple(sorted(snapshot.topologies, key=lambda topology: topology.name)),
        )
    )


def pod(name: str, **more: Any) -> Entry:
    """A pod of gang `g` that has one of everything that the scheduler heeds, as far as `more` does not say less."""
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [
            {
                "name": "main",
                "image": "x",
                "resources": {
                    "requests": {"cpu": "1500m", "memory": "1.5Gi"},
                    "limits": {GPU: more.pop("gpus", "2")},
                },
            }
        ],
    }
    metadata = {"name": name, "namespace": "team", "annotations": {"pod-group-name": "g"}}
    metadata["annotations"] |= more.pop("annotations", {})
    metadata["labels"] = {"kai.scheduler/queue": "team", **more.pop("labels", {})}
    return POD, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | more}


def named(kind: Kind, name: str, namespace: str = "", **more: Any) -> Entry:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **more}


RESOURCE = {"quota": 2, "limit": -1, "overQuotaWeight": 3}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "spread"}}}
IN_ZONE_A = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}
READY = {"type": "Ready", "status": "True"}
CONSTRUCTED: tuple[Entry, ...] = (
    named(NAMESPACE, "team"),
    named(PRIORITY_CLASS, "usual", value=60, globalDefault=True),
    named(
        KAI_QUEUE,
        "team",
        spec={
            "parentQueue": "default-parent-queue",
            "priority": 7,
            "preemptMinRuntime": "1h30m",
            "resources": {"gpu": RESOURCE, "cpu": {**RESOURCE, "limit": 64000}, "memory": {**RESOURCE, "limit": 900}},
        },
    ),
    named(KAI_QUEUE, "pooled", metadata={"labels": {"kai.scheduler/node-pool": "b"}}, spec={"resources": {}}),
    named(
        KAI_POD_GROUP,
        "g",
        "team",
        metadata={"annotations": {"kai.scheduler/last-start-timestamp": "2026-11-29T11:00:00Z"}},
        spec={
            "queue": "team",
            "minMember": 3,
            "priorityClassName": "inference",
            "preemptibility": "preemptible",
            "stalenessGracePeriod": "5m",
            "topologyConstraint": {"topology": "by-hand", "preferredTopologyLevel": "topology.kubernetes.io/rack"},
            "subGroups": [{"name": "lead", "minMember": 1}, {"name": "work", "minMember": 2}],
        },
    ),
    named(KAI_POD_GROUP, "plain", "team", spec={"queue": "team", "minMember": 1}),
    named(
        KAI_SCHEDULING_SHARD,
        "b",
        spec={
            "partitionLabelValue": "b",
            "placementStrategy": {"gpu": "spread", "cpu": "spread"},
            "minRuntime": {"reclaimMinRuntime": "10m"},
            "kValue": 0.5,
        },
    ),
    named(NODE, "pooled-1", metadata={"labels": {"kai.scheduler/node-pool": "b"}}, spec={},
          status={"capacity": {GPU: "4", "cpu": "8", "memory": "32Gi", "pods": "20"},
                  "allocatable": {GPU: "3", "cpu": "7500m", "memory": "30Gi", "pods": "20"},
                  "conditions": [READY, {"type": "MemoryPressure", "status": "Unknown"}]}),
    pod("lead-0", labels={"kai.scheduler/subgroup-name": "lead", "kai.scheduler/task-priority": "9"}),
    pod("work-0", labels={"kai.scheduler/subgroup-name": "work"}, nodeSelector={"team.example.com/pool": "training"},
        tolerations=[{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]),
    pod("work-1", labels={"kai.scheduler/subgroup-name": "work", "app": "spread"}, schedulingGates=[{"name": "later"}],
        affinity={
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [IN_ZONE_A]}]}},
            "podAntiAffinity": {REQUIRED: [TERM]}}),
    pod("half", gpus="0", annotations={"gpu-fraction": "0.5", "pod-group-name": "plain"}, nodeName="gpu-a1-1"),
    pod("foreign", schedulerName="default-scheduler", nodeName="gpu-a1-2"),
)  # fmt: skip
