"""The scheduler's view of the cluster: the engine's structs, kept current object by object.

Only what changed is read anew, so an idle cluster of 50,000 pods costs nothing. Decisions are assumed until the
API server shows them: a bound pod counts on its node, an evicted one as releasing, at once.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_TOPOLOGY, NAMESPACE, NODE, POD, PRIORITY_CLASS
from clusters.operators.objects import key_of, labels_of, spec_of
from scheduling.affinity import selects_namespaces
from scheduling.objects import (
    UnreadableObject,
    merge_equal_names,
    pool_of,
    read_pod_group,
    read_queue,
    read_topology,
)
from scheduling.structs import FINISHED, Node, Pod, PodGroup, Queue, Snapshot, Topology
from simulator.actors.informer import InformerSet
from simulator.actors.scheduler.read import read_node, read_pod
from simulator.client import Object

T = TypeVar("T")
KINDS = (NODE, POD, NAMESPACE, KAI_QUEUE, KAI_POD_GROUP, KAI_TOPOLOGY, PRIORITY_CLASS)


class SchedulerCache:
    """All shards' objects. `on_change` is called for every change a cycle could care about; `structure` counts
    those that matter although nothing waits: nodes, queues, topologies, classes, active pods that go."""

    def __init__(self, informers: InformerSet) -> None:
        self.structure = 0
        self.unreadable: dict[str, str] = {}
        self.on_change: Callable[[], None] = lambda: None
        self._nodes: dict[str, Node] = {}
        self._node_pools: dict[str, str] = {}
        self._queues: dict[str, Queue] = {}
        self._topologies: dict[str, Topology] = {}
        self._groups: dict[str, PodGroup] = {}
        self._group_objects: dict[str, Object] = {}
        self._pods: dict[str, Pod] = {}
        self._assumed: dict[str, Pod] = {}
        self._pending: set[str] = set()
        self._priorities: dict[str, int] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._across: dict[str, Object] = {}  # pods with terms on namespaces by label
        informers.of(NODE).subscribe(self._node)
        informers.of(NAMESPACE).subscribe(self._namespace)
        informers.of(POD).subscribe(self._pod)
        informers.of(KAI_QUEUE).subscribe(self._queue)
        informers.of(KAI_POD_GROUP).subscribe(self._group)
        informers.of(KAI_TOPOLOGY).subscribe(self._topology)
        informers.of(PRIORITY_CLASS).subscribe(self._priority_class)

    def snapshot(self, pool: str, now: float) -> Snapshot:
        """What the scheduler of one shard sees. Raises UnreadableObject when its clients cannot decode a kind."""
        if self.unreadable:
            raise UnreadableObject("; ".join(sorted(self.unreadable.values())))
        nodes = tuple(n for name, n in self._nodes.items() if self._node_pools[name] == pool)
        names = {node.name for node in nodes}
        groups = {key: group for key, group in self._groups.items() if group.pool == pool}
        pods = [
            pod
            for pod in self._pods.values()
            if pod.podgroup in groups or (pod.node in names and pod.phase not in FINISHED)
        ]
        pods = merge_equal_names(groups, pods)
        return Snapshot(
            nodes=nodes,
            queues=tuple(q for q in self._queues.values() if q.pool == pool),
            podgroups=tuple(groups.values()),
            pods=tuple(pods),
            topologies=tuple(self._topologies.values()),
            now=now,
            pool=pool,
        )

    def has_pending(self, pool: str) -> bool:
        """Whether some pod of the shard waits for a node."""
        return any(self._pool_of_pod(key) == pool for key in self._pending)

    def has_placeable(self, pool: str) -> bool:
        """The same without pods whose gates are closed."""
        return any(not self._pods[key].gated and self._pool_of_pod(key) == pool for key in self._pending)

    def group_object(self, key: str) -> Object | None:
        return self._group_objects.get(key)

    def pod(self, key: str) -> Pod | None:
        return self._pods.get(key)

    def assume_bound(self, key: str, node: str) -> None:
        self._assume(key, node=node)

    def assume_evicted(self, key: str) -> None:
        self._assume(key, releasing=True)

    def forget(self, key: str) -> None:
        """A decision could not be written: the pod is again as the API server shows it."""
        original = self._assumed.pop(key, None)
        if original is not None and key in self._pods:
            self._set_pod(key, original)

    def queue_cycle(self) -> list[str]:
        """Queues whose chain of parents comes back to itself, and that have a waiting pod below them."""
        parents = {name: queue.parent for name, queue in self._queues.items()}
        waiting = {
            group.queue for key in self._pending if (group := self._groups.get(self._pods[key].podgroup)) is not None
        }
        return sorted(name for name in waiting if _runs_in_circles(name, parents))

    def _assume(self, key: str, **changes: Any) -> None:
        pod = self._pods.get(key)
        if pod is not None:
            self._assumed.setdefault(key, pod)
            self._set_pod(key, msgspec.structs.replace(pod, **changes))

    def _changed(self, *, structure: bool = True) -> None:
        self.structure += structure
        self.on_change()

    def _node(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._nodes.pop(old["metadata"]["name"], None)
                self._node_pools.pop(old["metadata"]["name"], None)
                self._changed()
            return
        node, name = read_node(new), new["metadata"]["name"]
        if self._nodes.get(name) != node or self._node_pools.get(name) != pool_of(new):
            self._nodes[name] = node
            self._node_pools[name] = pool_of(new)
            self._changed()

    def _namespace(self, old: Object | None, new: Object | None) -> None:
        for obj in (old, new):
            if obj is not None:
                self._namespaces.pop(obj["metadata"]["name"], None)
        if new is not None:
            self._namespaces[new["metadata"]["name"]] = labels_of(new)
        for pod in list(self._across.values()):
            self._pod(pod, pod)

    def _pod(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                key = "/".join(key_of(old))
                self._pods.pop(key, None)
                self._across.pop(key, None)
                self._assumed.pop(key, None)
                self._pending.discard(key)
                self._changed()
            return
        key, pod = "/".join(key_of(new)), read_pod(new, self._namespaces)
        if selects_namespaces(spec_of(new)):
            self._across[key] = new
        assumed = self._assumed.get(key)
        if assumed is not None:
            current = self._pods[key]
            if (pod.node == current.node and pod.releasing == current.releasing) or pod.uid != assumed.uid:
                del self._assumed[key]
            else:
                self._assumed[key] = pod
                pod = msgspec.structs.replace(pod, node=current.node, releasing=current.releasing)
        before = self._pods.get(key)
        if before != pod:
            self._set_pod(key, pod)
            self._changed(structure=pod.releasing or pod.phase in FINISHED or (before is None and bool(pod.node)))

    def _set_pod(self, key: str, pod: Pod) -> None:
        self._pods[key] = pod
        if pod.podgroup and not pod.node and not pod.releasing and pod.phase == "Pending":
            self._pending.add(key)
        else:
            self._pending.discard(key)

    def _pool_of_pod(self, key: str) -> str:
        group = self._groups.get(self._pods[key].podgroup)
        return group.pool if group is not None else "\0"

    def _queue(self, old: Object | None, new: Object | None) -> None:
        self._take(self._queues, old, new, read_queue)

    def _topology(self, old: Object | None, new: Object | None) -> None:
        self._take(self._topologies, old, new, read_topology)

    def _group(self, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None:
            key = "/".join(key_of(obj))
            if new is None:
                self._group_objects.pop(key, None)
            else:
                self._group_objects[key] = new
        read = partial(read_pod_group, priorities=self._priorities)
        self._take(self._groups, old, new, read, structure=False)

    def _take(
        self,
        store: dict[str, T],
        old: Object | None,
        new: Object | None,
        read: Callable[[Object], T],
        *,
        structure: bool = True,
    ) -> None:
        obj = new or old
        if obj is None:
            return
        namespace, name = key_of(obj)
        key = f"{namespace}/{name}" if namespace else name
        place = f"{obj.get('kind')} {key}"
        was_unreadable = self.unreadable.pop(place, None)
        if new is None:
            if store.pop(key, None) is not None or was_unreadable:
                self._changed(structure=structure)
            return
        try:
            value = read(new)
        except UnreadableObject as error:
            self.unreadable[place] = str(error)
            store.pop(key, None)
            return
        if store.get(key) != value:
            store[key] = value
            self._changed(structure=structure)

    def _priority_class(self, old: Object | None, new: Object | None) -> None:
        for obj in (old, new):
            if obj is not None:
                self._priorities.pop(obj["metadata"]["name"], None)
                if obj.get("globalDefault"):
                    self._priorities.pop("", None)
        if new is not None:
            self._priorities[new["metadata"]["name"]] = new["value"]
            if new.get("globalDefault"):
                self._priorities[""] = new["value"]
        for key, group in list(self._group_objects.items()):
            if spec_of(group).get("priorityClassName"):
                self._groups.pop(key, None)
            self._group(group, group)
        self._changed()


def _runs_in_circles(name: str, parents: Mapping[str, str]) -> bool:
    seen = set()
    while name and name in parents:
        if name in seen:
            return True
        seen.add(name)
        name = parents[name]
    return False
