"""The engine's structs of one cluster's observed rows, read again where a row's resource version changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec
from django.db.models import QuerySet

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_SCHEDULING_SHARD, KAI_TOPOLOGY, PRIORITY_CLASS, Kind
from clusters.models import Cluster, ClusterObject, Node, Pod
from clusters.names import QUEUE_LABEL, WORKLOAD_LABEL
from clusters.watcher.rows import COMPONENT_LABEL, COMPONENT_TYPE_LABEL, GRAPH_LABEL
from scheduling import structs
from scheduling.affinity import node_terms, pod_terms
from scheduling.objects import (
    UnreadableObject,
    fraction_of,
    is_ready,
    read_pod_group,
    read_priorities,
    read_queue,
    read_toleration,
    read_topology,
    whole,
)

T = TypeVar("T")
Manifest = dict[str, Any]

CHUNK = 500
MOST_CHANGES = 5000
"""Beyond so many changed rows of a table they are read in one query."""
POD_SLOTS = 110
LABEL_COLUMNS = {
    WORKLOAD_LABEL: "workload",
    GRAPH_LABEL: "graph",
    COMPONENT_LABEL: "component",
    COMPONENT_TYPE_LABEL: "component_type",
    QUEUE_LABEL: "queue",
}
NODE_COLUMNS = (
    "name", "allocatable", "gpu_allocatable", "cpu_millicores", "memory_bytes", "pod_slots", "labels", "taints",
    "cordoned", "ready", "conditions", "gpu_memory_mib",
)  # fmt: skip
POD_COLUMNS = (
    "name", "namespace", "pod_group", "gpus", "cpu_millicores", "memory_bytes", "node_name", "phase", "uid",
    "created_at", "gated", "deletion_requested_at", "scheduling", *LABEL_COLUMNS.values(),
)  # fmt: skip


def known_pod_labels() -> frozenset[str]:
    """Keys of the labels that every mirrored pod keeps."""
    return frozenset(LABEL_COLUMNS)


class Table(Generic[T]):
    """Values of the rows of one table by primary key; `refresh` reads what changed."""

    def __init__(self, columns: Sequence[str], read: Callable[..., T]) -> None:
        self._columns = columns
        self._read = read
        self._versions: dict[int, str] = {}
        self._values: dict[int, T] = {}

    @property
    def values(self) -> Iterable[T]:
        """All values, in the order of the rows."""
        return self._values.values()

    def clear(self) -> None:
        """Forget everything, to be read anew."""
        self._versions, self._values = {}, {}

    def refresh(self, rows: "QuerySet[Any]", *, anew: bool) -> None:
        """Make the values those of these rows. 1 query where nothing changed; `anew`: read every row."""
        if anew:
            self.clear()
        current = dict(rows.order_by("pk").values_list("pk", "resource_version"))
        changed = [pk for pk, version in current.items() if self._versions.get(pk) != version]
        found: dict[int, T] = {}
        for chosen in self._chosen(rows, changed):
            found.update((row[0], self._read(*row[1:])) for row in chosen.values_list("pk", *self._columns))
        self._versions = current
        kept = self._values
        self._values = {pk: found[pk] if pk in found else kept[pk] for pk in current if pk in found or pk in kept}

    def _chosen(self, rows: "QuerySet[Any]", changed: list[int]) -> "Iterable[QuerySet[Any]]":
        if len(changed) > MOST_CHANGES:
            yield rows
            return
        numbers = iter(changed)
        while chunk := list(islice(numbers, CHUNK)):
            yield rows.filter(pk__in=chunk)


class ClusterRows:
    """Everything of one cluster that its schedulers heed. Hold `lock` while using it."""

    def __init__(self, cluster_id: UUID) -> None:
        self.lock = Lock()
        self._cluster_id = cluster_id
        self._created_at: datetime | None = None
        self._versions = [-1, -1, -1]
        self._nodes = Table(NODE_COLUMNS, node_of)
        self._pods = Table(POD_COLUMNS, pod_of)
        self._objects = {
            kind: Table[Manifest](("manifest",), dict)
            for kind in (KAI_QUEUE, KAI_TOPOLOGY, KAI_SCHEDULING_SHARD, PRIORITY_CLASS)
        }
        self._priorities: dict[str, int] = {}
        self._groups = Table(("manifest",), self._group_of)

    def refresh(self) -> None:
        """Read what changed since the last time: 1 query, and one or more for each kind of rows that did. Rows that
        no watcher wrote have no version that tells: they are read whole."""
        columns = ("created_at", "nodes_version", "pods_version", "objects_version")
        created_at, *versions = Cluster.objects.values_list(*columns).get(pk=self._cluster_id)
        nodes, pods, objects = versions
        another = created_at != self._created_at
        before = [-1, -1, -1] if another else self._versions
        if not nodes or nodes != before[0]:
            self._nodes.refresh(Node.objects.filter(cluster_id=self._cluster_id), anew=another or not nodes)
        if not pods or pods != before[1]:
            self._pods.refresh(Pod.objects.filter(cluster_id=self._cluster_id), anew=another or not pods)
        if not objects or objects != before[2]:
            self._refresh_objects(anew=another or not objects)
        self._created_at, self._versions = created_at, versions

    def nodes(self) -> Iterable[structs.Node]:
        """Nodes of all pools."""
        return self._nodes.values

    def pods(self) -> Iterable[structs.Pod]:
        """Pods of all pools, finished ones included."""
        return self._pods.values

    def pod_groups(self) -> list[structs.PodGroup]:
        """Pod groups that KAI can read."""
        return [group for group in self._groups.values if isinstance(group, structs.PodGroup)]

    def queues(self) -> list[structs.Queue]:
        """Queues that KAI can read."""
        queues = (_or_error(read_queue, manifest) for manifest in self._objects[KAI_QUEUE].values)
        return [queue for queue in queues if isinstance(queue, structs.Queue)]

    def topologies(self) -> list[structs.Topology]:
        """Topologies that KAI can read."""
        topologies = (_or_error(read_topology, manifest) for manifest in self._objects[KAI_TOPOLOGY].values)
        return [topology for topology in topologies if isinstance(topology, structs.Topology)]

    def shards(self) -> list[Manifest]:
        """The SchedulingShard objects."""
        return list(self._objects[KAI_SCHEDULING_SHARD].values)

    def unreadable(self) -> tuple[str, ...]:
        """What is wrong with the objects that KAI cannot read."""
        queues = (_or_error(read_queue, manifest) for manifest in self._objects[KAI_QUEUE].values)
        topologies = (_or_error(read_topology, manifest) for manifest in self._objects[KAI_TOPOLOGY].values)
        read = (*queues, *topologies, *self._groups.values)
        return tuple(sorted(found for found in read if isinstance(found, str)))

    def _refresh_objects(self, *, anew: bool) -> None:
        for kind, table in self._objects.items():
            table.refresh(self._rows(kind), anew=anew)
        priorities = read_priorities(self._objects[PRIORITY_CLASS].values)
        if priorities != self._priorities:
            self._priorities = priorities
            self._groups.clear()
        self._groups.refresh(self._rows(KAI_POD_GROUP), anew=anew)

    def _rows(self, kind: Kind) -> "QuerySet[ClusterObject]":
        return ClusterObject.objects.filter(cluster_id=self._cluster_id, group=kind.group, plural=kind.plural)

    def _group_of(self, manifest: Manifest) -> structs.PodGroup | str:
        return _or_error(lambda found: read_pod_group(found, self._priorities), manifest)


def node_of(*row: Any) -> structs.Node:
    """The engine's node of the columns `NODE_COLUMNS`; where allocatable is not kept, capacity stands for it."""
    of = dict(zip(NODE_COLUMNS, row, strict=True))
    amounts = of["allocatable"] or {
        "cpu": of["cpu_millicores"] or 0,
        "memory": of["memory_bytes"] or 0,
        "pods": of["pod_slots"] or POD_SLOTS,
    }
    taints = of["taints"]
    return structs.Node(
        name=of["name"],
        allocatable=structs.Resources(
            float(of["gpu_allocatable"] or 0), float(amounts.get("cpu", 0)), float(amounts.get("memory", 0))
        ),
        pods=amounts.get("pods", POD_SLOTS),
        labels=of["labels"],
        taints=tuple(structs.Taint(t["key"], t.get("effect", ""), t.get("value") or "") for t in taints),
        unschedulable=of["cordoned"],
        ready=is_ready(of["conditions"] or [{"type": "Ready", "status": of["ready"]}]),
        gpu_memory_mib=of["gpu_memory_mib"] or 0,
    )


def pod_of(*row: Any) -> structs.Pod:
    """The engine's pod of the columns `POD_COLUMNS`."""
    of = dict(zip(POD_COLUMNS, row, strict=True))
    more: dict[str, Any] = of["scheduling"]
    group = "" if more.get("scheduler") or not of["pod_group"] else f"{of['namespace']}/{of['pod_group']}"
    fraction = fraction_of(more.get("fraction"))
    plain = structs.Pod(
        name=of["name"],
        namespace=of["namespace"],
        podgroup=group,
        requests=structs.Resources(
            0.0 if fraction else float(of["gpus"]), float(of["cpu_millicores"]), float(of["memory_bytes"])
        ),
        node=of["node_name"],
        phase=of["phase"],
        uid=of["uid"],
        created=of["created_at"].timestamp(),
        gated=of["gated"],
        releasing=of["deletion_requested_at"] is not None,
        labels=_labels(*(of[column] for column in LABEL_COLUMNS.values())),
    )
    return _with_more(plain, more, fraction) if more else plain


@lru_cache(maxsize=20_000)
def _labels(*values: str) -> Mapping[str, str]:
    return {key: value for key, value in zip(LABEL_COLUMNS, values, strict=True) if value}


def _with_more(pod: structs.Pod, more: Manifest, fraction: float) -> structs.Pod:
    return msgspec.structs.replace(
        pod,
        subgroup=more.get("subgroup", ""),
        node_selector=more.get("nodeSelector") or {},
        tolerations=tuple(read_toleration(entry) for entry in more.get("tolerations") or ()),
        affinity=node_terms(more),
        labels=more.get("labels") or pod.labels,
        anti_affinity=pod_terms(more, "podAntiAffinity"),
        pod_affinity=pod_terms(more, "podAffinity"),
        task_priority=whole(more.get("taskPriority", "0")),
        gpu_fraction=fraction,
        gpu_memory_mib=whole(more.get("gpuMemory", "0")),
        fraction_devices=whole(more.get("devices", "1")) or 1,
        gpu_groups=tuple(more.get("gpuGroups") or ()),
    )


def _or_error(read: Callable[[Manifest], T], manifest: Manifest) -> T | str:
    try:
        return read(manifest)
    except UnreadableObject as error:
        return str(error)
