"""podgroup-controller and queue-controller: who has and wants how much, in PodGroup and Queue statuses."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_SCHEDULING_SHARD, POD, PRIORITY_CLASS
from clusters.operators.objects import (
    Key,
    annotations_of,
    is_deleting,
    key_of,
    mapping_of,
    spec_of,
    status_of,
)
from scheduling.objects import NON_PREEMPTIBLE_FROM, fraction_of, whole
from scheduling.structs import FINISHED
from simulator.actors.controller import Controller
from simulator.actors.quantities import Amounts, add, format_amounts, parse_amounts, pod_requests
from simulator.actors.scheduler.read import GPU, POD_GROUP
from simulator.client import Object

FIELDS = ("allocated", "allocatedNonPreemptible", "requested")
BY_GROUP = "pod-group"
BY_QUEUE = "queue"
BY_PARENT = "parent"


def group_status(pods: Iterable[Object], *, preemptible: bool) -> Object:
    """`resourcesStatus`: requested by all living pods, allocated to those with a node; empty parts are left out."""
    requested: Amounts = {}
    allocated: Amounts = {}
    for pod in pods:
        if status_of(pod).get("phase") in FINISHED:
            continue
        amounts = pod_requests(spec_of(pod))
        add(amounts, shared_gpus(pod))
        bound = bool(spec_of(pod).get("nodeName"))
        if bound:
            add(allocated, amounts)
        if bound or not is_deleting(pod):
            add(requested, amounts)
    parts = {
        "requested": format_amounts(requested),
        "allocated": format_amounts(allocated),
        "allocatedNonPreemptible": {} if preemptible else format_amounts(allocated),
    }
    return {name: amounts for name, amounts in parts.items() if amounts}


def shared_gpus(pod: Object) -> Amounts:
    """What `gpu-fraction` asks for, of each of its devices, as KAI's podgroup-controller counts it: parts of
    `nvidia.com/gpu`."""
    annotations = annotations_of(pod)
    fraction = fraction_of(annotations.get("gpu-fraction"))
    devices = whole(annotations.get("gpu-fraction-num-devices", "1")) or 1
    return {GPU: Decimal(repr(fraction)) * devices} if fraction else {}


def queue_status(groups: Iterable[Object], children: Iterable[Object]) -> Object:
    """Sums of the queue's own PodGroups and of its children's statuses."""
    totals: dict[str, Amounts] = {field: {} for field in FIELDS}
    for group in groups:
        for field in FIELDS:
            add(totals[field], parse_amounts(mapping_of(status_of(group).get("resourcesStatus")).get(field)))
    names = []
    for child in children:
        names.append(child["metadata"]["name"])
        for field in FIELDS:
            add(totals[field], parse_amounts(status_of(child).get(field)))
    status: Object = {field: format_amounts(totals[field]) for field in FIELDS}
    return {**status, "childQueues": sorted(names)}


def replacing(current: Mapping[str, object], wanted: Object) -> Object | None:
    """A merge patch from `current` to exactly `wanted`, None when nothing differs."""
    if all((current.get(name) or {}) == (value or {}) for name, value in wanted.items()):
        return None
    patch: Object = {}
    for name, value in wanted.items():
        old = current.get(name)
        if isinstance(value, dict) and isinstance(old, Mapping):
            patch[name] = {**dict.fromkeys(old, None), **value}
        else:
            patch[name] = value
    return patch


class PodGroupAccounts(Controller):
    component = "podgroup-controller"
    kinds = (KAI_POD_GROUP, POD, PRIORITY_CLASS)

    def setup(self) -> None:
        self.informer(POD).add_index(BY_GROUP, lambda pod: ["/".join(key) for key in _group_key(pod)])
        self.watch(POD, _group_key)
        self.watch(KAI_POD_GROUP)
        self.informer(PRIORITY_CLASS)

    async def reconcile(self, key: Key) -> float | None:
        group = self.informer(KAI_POD_GROUP).get(key)
        if group is None or is_deleting(group):
            return None
        pods = self.informer(POD).by_index(BY_GROUP, "/".join(key))
        wanted: Object = {field: {} for field in FIELDS}
        wanted |= group_status(pods, preemptible=self._preemptible(group))
        patch = replacing(mapping_of(status_of(group).get("resourcesStatus")), wanted)
        if patch is not None:
            patch = {name: value or None for name, value in patch.items()}
            body = {"status": {"resourcesStatus": patch}}
            await self.context.client.patch(KAI_POD_GROUP, key[1], key[0], body, subresource="status")
        return None

    def _preemptible(self, group: Object) -> bool:
        preemptibility = spec_of(group).get("preemptibility")
        if preemptibility:
            return bool(preemptibility == "preemptible")
        name = spec_of(group).get("priorityClassName") or ""
        found = self.informer(PRIORITY_CLASS).get(("", name))
        return found is None or bool(found.get("value", 0) < NON_PREEMPTIBLE_FROM)


class QueueAccounts(Controller):
    component = "queue-controller"
    kinds = (KAI_QUEUE, KAI_POD_GROUP)
    workers = 1

    def setup(self) -> None:
        self.informer(KAI_POD_GROUP).add_index(BY_QUEUE, lambda group: [spec_of(group).get("queue") or ""])
        self.informer(KAI_QUEUE).add_index(BY_PARENT, lambda queue: [spec_of(queue).get("parentQueue") or ""])
        self.watch(KAI_QUEUE, _queue_and_parent)
        self.watch(KAI_POD_GROUP, lambda group: [("", spec_of(group).get("queue") or "")])

    async def reconcile(self, key: Key) -> float | None:
        queue = self.informer(KAI_QUEUE).get(key)
        if queue is None or is_deleting(queue):
            return None
        groups = self.informer(KAI_POD_GROUP).by_index(BY_QUEUE, key[1])
        children = [q for q in self.informer(KAI_QUEUE).by_index(BY_PARENT, key[1]) if key_of(q) != key]
        patch = replacing(status_of(queue), queue_status(groups, children))
        if patch is not None:
            patch = {name: value or None for name, value in patch.items()}
            await self.context.client.patch(KAI_QUEUE, key[1], None, {"status": patch}, subresource="status")
        return None


class ShardStatus(Controller):
    """KAI's operator reports a SchedulingShard as deployed; its scheduler is `loop.Scheduler`."""

    component = "kai-operator"
    kinds = (KAI_SCHEDULING_SHARD,)
    workers = 1

    def setup(self) -> None:
        self.watch(KAI_SCHEDULING_SHARD)

    async def reconcile(self, key: Key) -> float | None:
        shard = self.informer(KAI_SCHEDULING_SHARD).get(key)
        if shard is None or is_deleting(shard):
            return None
        generation = shard["metadata"].get("generation", 1)
        conditions = [
            {
                "type": name,
                "status": "False" if name == "Reconciling" else "True",
                "reason": reason,
                "message": message,
                "observedGeneration": generation,
            }
            for name, reason, message in (
                ("Reconciling", "reconciled", "Reconciliation completed successfully"),
                ("Deployed", "deployed", "Resources deployed"),
                ("Available", "available", "System available"),
            )
        ]
        await self.context.put_status(KAI_SCHEDULING_SHARD, shard, {}, conditions)
        return None


def _group_key(pod: Object) -> list[Key]:
    name = annotations_of(pod).get(POD_GROUP)
    return [(pod["metadata"]["namespace"], name)] if name else []


def _queue_and_parent(queue: Object) -> list[Key]:
    parent = spec_of(queue).get("parentQueue")
    return [key_of(queue), *([("", parent)] if parent else [])]
