"""Writes what a cycle decided: bindings, evictions, conditions and events, in KAI's form."""

import logging
from collections.abc import Mapping
from decimal import Decimal

from clusters.kinds import KAI_POD_GROUP, POD, Kind
from clusters.operators.objects import annotations_of, spec_of, status_of
from core.moments import rfc3339
from scheduling.moments import utc_moment
from scheduling.objects import LAST_EVICTION, LAST_START, STALE_SINCE
from scheduling.structs import Condition, CycleResult, Event, PodCondition, QueueDetails, Reason, Resources
from simulator.actors.context import Context
from simulator.actors.quantities import format_quantity
from simulator.actors.scheduler.cache import SchedulerCache
from simulator.client import KubeError, Object

log = logging.getLogger(__name__)

SCHEDULER = "kai-scheduler"
BINDER = "binder"


class DecisionWriter:
    """Everything goes through the API; what it refuses is forgotten and decided again."""

    def __init__(self, context: Context, cache: SchedulerCache) -> None:
        self._context = context
        self._cache = cache

    async def write(self, result: CycleResult, pool: str) -> None:
        self._write_events(result.events)
        await self._evict(result)
        await self._bind(result, pool)
        for key, condition in result.conditions.items():
            await self._mark(key, condition, pool)
        for key in result.cleared:
            await self._clear(key, pool)
        for number, (key, pod_condition) in enumerate(result.pod_conditions.items()):
            await self._context.breathe(number)
            await self._mark_pod(key, pod_condition)
        await self._write_stale(result.stale_since)

    async def _evict(self, result: CycleResult) -> None:
        groups = set()
        for eviction in result.evicted:
            pod = self._object(POD, eviction.pod)
            if pod is None:
                continue
            self._cache.assume_evicted(eviction.pod)
            groups.add(eviction.podgroup)
            await self._context.delete(POD, pod)
        for key in sorted(groups):
            await self._annotate(key, {LAST_EVICTION: self._context.timestamp()})

    async def _bind(self, result: CycleResult, pool: str) -> None:
        for key, node in result.bound.items():
            self._cache.assume_bound(key, node)
        started = set()
        for number, (key, node) in enumerate(result.bound.items()):
            await self._context.breathe(number)
            await self._context.wait_up(BINDER)
            if await self._bind_one(key, node, result.gpu_groups.get(key, ()), pool):
                pod = self._cache.pod(key)
                started.add(pod.podgroup if pod else "")
        for key in sorted(started - {""}):
            group = self._cache.group_object(key)
            if group is not None and LAST_START not in annotations_of(group):
                await self._annotate(key, {LAST_START: self._context.timestamp()})

    async def _bind_one(self, key: str, node: str, gpu_groups: tuple[str, ...], pool: str) -> bool:
        namespace, name = key.split("/", 1)
        pod = self._object(POD, key)
        try:
            await self._context.client.bind(namespace, name, node)
        except KubeError as error:
            log.debug("cannot bind %s: %s", key, error)
            self._cache.forget(key)
            if pod is not None:
                self._pod_event(pod, "FailedBinding", str(error), SCHEDULER, "Warning")
            return False
        if pod is None:
            return True
        text = f"Successfully assigned pod {key} to node {node} at node-pool {pool or 'default'}"
        self._pod_event(pod, "Scheduled", text, SCHEDULER)
        await self._confirm(pod, node, gpu_groups)
        return True

    async def _confirm(self, pod: Object, node: str, gpu_groups: tuple[str, ...]) -> None:
        """The binder's marks on a bound pod."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        kind = "Fraction" if gpu_groups else "Regular"
        metadata: Object = {"annotations": {"received-resource-type": kind}}
        if gpu_groups:
            metadata["labels"] = {
                "runai-gpu-group" if i == 0 else f"runai-gpu-group/{g}": g for i, g in enumerate(gpu_groups)
            }
        message = f"Pod bound successfully to node {node}"
        self._pod_event(pod, "Bound", message, BINDER)
        now = self._context.timestamp()
        bound = {"type": "PodBound", "status": "True", "reason": "Bound", "message": message}
        scheduled = {"type": "PodScheduled", "status": "True"}
        conditions = [condition | {"lastTransitionTime": now} for condition in (bound, scheduled)]
        try:
            await self._context.client.patch(POD, name, namespace, {"metadata": metadata})
            # By type: a kubelet may have written its own conditions in the meantime.
            body = {"status": {"conditions": conditions}}
            await self._context.client.patch(
                POD, name, namespace, body, patch_type="application/strategic-merge-patch+json", subresource="status"
            )
        except KubeError as error:
            if error.code != 404:
                raise

    async def _mark(self, key: str, condition: Condition, pool: str) -> None:
        """`schedulingConditions` of one node pool; transitionID counts up when the verdict changes."""
        group = self._cache.group_object(key)
        if group is None:
            return
        current = list(status_of(group).get("schedulingConditions") or ())
        name = pool or "default"
        old = next((c for c in current if c.get("nodePool") == name), None)
        reasons = [_reason(reason) for reason in condition.reasons]
        if old is not None and old.get("message") == condition.message:
            return
        entry = {
            "type": condition.type,
            "status": condition.status,
            "nodePool": name,
            "reason": condition.reason,
            "message": condition.message,
            "reasons": reasons,
            "transitionID": str(max((int(c.get("transitionID", 0)) for c in current), default=0) + 1),
            "lastTransitionTime": self._context.timestamp(),
        }
        others = [c for c in current if c.get("nodePool") != name]
        await self._patch_group(group, {"status": {"schedulingConditions": [*others, entry]}}, "status")

    async def _clear(self, key: str, pool: str) -> None:
        group = self._cache.group_object(key)
        current = list(status_of(group).get("schedulingConditions") or ()) if group else []
        kept = [c for c in current if c.get("nodePool") != (pool or "default")]
        if group is not None and len(kept) != len(current):
            await self._patch_group(group, {"status": {"schedulingConditions": kept}}, "status")

    async def _mark_pod(self, key: str, condition: PodCondition) -> None:
        pod = self._object(POD, key)
        if pod is None or spec_of(pod).get("nodeName"):
            return
        current = status_of(pod).get("conditions") or ()
        entry = {
            "type": "PodScheduled",
            "status": "False",
            "reason": condition.reason,
            "message": condition.message,
        }
        if any(all(c.get(k) == v for k, v in entry.items()) for c in current):
            return
        await self._context.put_status(POD, pod, {}, [entry])

    async def _write_stale(self, stale: Mapping[str, float]) -> None:
        for key, since in stale.items():
            group = self._cache.group_object(key)
            moment = rfc3339(utc_moment(since))
            if group is not None and annotations_of(group).get(STALE_SINCE) != moment:
                await self._annotate(key, {STALE_SINCE: moment})

    async def _annotate(self, key: str, annotations: Mapping[str, str]) -> None:
        group = self._cache.group_object(key)
        if group is not None:
            await self._patch_group(group, {"metadata": {"annotations": dict(annotations)}}, "")

    async def _patch_group(self, group: Object, body: Object, subresource: str) -> None:
        """The next cycle sees the answer, whether or not the watch has told it: what was marked can be cleared."""
        metadata = group["metadata"]
        try:
            changed = await self._context.client.patch(
                KAI_POD_GROUP, metadata["name"], metadata["namespace"], body, subresource=subresource
            )
        except KubeError as error:
            if error.code != 404:
                raise
            return
        self._context.informers.of(KAI_POD_GROUP).refresh(changed)

    def _write_events(self, events: tuple[Event, ...]) -> None:
        for event in events:
            kind = POD if event.kind == "Pod" else KAI_POD_GROUP
            obj = self._object(kind, event.key)
            if obj is not None:
                self._context.events.record(
                    (kind, obj),
                    event.reason,
                    event.message,
                    component=SCHEDULER,
                    event_type=event.type,
                    annotations=_event_annotations(event),
                )

    def _pod_event(self, pod: Object, reason: str, message: str, component: str, event_type: str = "Normal") -> None:
        self._context.events.record((POD, pod), reason, message, component=component, event_type=event_type)

    def _object(self, kind: Kind, key: str) -> Object | None:
        namespace, name = key.split("/", 1)
        return self._context.informers.of(kind).get((namespace, name))


def _event_annotations(event: Event) -> dict[str, str]:
    """Events name the action in lower case."""
    found = dict(event.annotations)
    if "evictor-action-type" in found:
        found["evictor-action-type"] = found["evictor-action-type"].lower()
    return found


def _reason(reason: Reason) -> Object:
    entry: Object = {"reason": reason.reason, "message": reason.message}
    if reason.queue is not None:
        entry["details"] = {"queueDetails": _queue_details(reason.queue)}
    return entry


def _queue_details(details: QueueDetails) -> Object:
    return {
        "name": details.name,
        "queueRequestedResources": _resources(details.requested),
        "queueDeservedResources": _resources(details.deserved),
        "queueAllocatedResources": _resources(details.allocated),
        "queueAllocatedNonPreemptibleResources": _resources(details.allocated_non_preemptible),
        "queueResourceLimits": _resources(details.limits),
        "podGroupRequestedResources": _resources(details.podgroup_requested),
        "podGroupRequestedNonPreemptibleResources": _resources(details.podgroup_requested_non_preemptible),
    }


def _resources(amounts: Resources) -> dict[str, str]:
    """CPU in cores. "Unlimited" is printed as `-1m`, `-1` and, for GPUs, 0 (golden: every queueDetails)."""
    cpu = "-1m" if amounts.cpu < 0 else _decimal(amounts.cpu / 1000)
    return {"cpu": cpu, "memory": _decimal(amounts.memory), "nvidia.com/gpu": _decimal(max(amounts.gpu, 0.0))}


def _decimal(amount: float) -> str:
    return format_quantity(Decimal(repr(amount)))
