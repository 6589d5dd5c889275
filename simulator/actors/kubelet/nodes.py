"""Node conditions, taints, labels and allocatable GPUs under faults, and the eviction of pods from lost nodes."""

from typing import Any

from clusters.kinds import NODE, POD
from clusters.operators.objects import (
    Key,
    annotations_of,
    find_condition,
    has_condition,
    is_deleting,
    labels_of,
    parse_timestamp,
    spec_of,
    status_of,
)
from scheduling.objects import read_toleration
from scheduling.selectors import untolerated
from scheduling.structs import FINISHED, Taint
from simulator.actors.context import Context
from simulator.actors.controller import Controller
from simulator.actors.kubelet.lifecycle import Step, status_at
from simulator.actors.kubelet.pods import BY_NODE
from simulator.actors.quantities import devices
from simulator.client import Object

GPU = "nvidia.com/gpu"
UNHEALTHY_GPUS = "simulator.muster/unhealthy-gpus"
"""Node annotation: how many of its GPUs the device plugin reports as unhealthy."""
UNREACHABLE = "node.kubernetes.io/unreachable"
EVICTING = Taint(UNREACHABLE, "NoExecute")
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycle(Controller):
    """Plays every kubelet's node status and the node lifecycle controller."""

    kinds = (NODE, POD)
    workers = 2

    def __init__(self, context: Context) -> None:
        self._faulty: set[str] = set()
        self._removed_labels: dict[str, dict[str, str]] = {}
        super().__init__(context)

    def setup(self) -> None:
        self.informer(POD).add_index(BY_NODE, lambda pod: [spec_of(pod).get("nodeName") or ""])
        self.watch(NODE)
        self.context.faults.on_change(self._on_fault)

    async def reconcile(self, key: Key) -> float | None:
        node = self.informer(NODE).get(key)
        if node is None:
            return None
        await self._gpus(node)
        await self._label(node)
        if self._is_lost(node):
            await self._lose(node)
            return await self._evict_pods(node)
        if not has_condition(node, "Ready"):
            await self._recover(node)
        return None

    async def _lose(self, node: Object) -> None:
        text = "Kubelet stopped posting node status."
        conditions = [
            {"type": name, "status": "Unknown", "reason": "NodeStatusUnknown", "message": text}
            for name in ("Ready", *PRESSURES)
        ]
        if await self.context.put_status(NODE, node, {}, conditions):
            message = f"Node {node['metadata']['name']} status is now: NodeNotReady"
            self.context.events.record((NODE, node), "NodeNotReady", message, component="node-controller")
        taints = [t for t in spec_of(node).get("taints") or () if t["key"] != UNREACHABLE]
        taints += [{"key": UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        await self._patch(node, {"spec": {"taints": taints}}, done=spec_of(node).get("taints") == taints)

    async def _evict_pods(self, node: Object) -> float | None:
        """Pods turn unready at once and are deleted after the eviction time; nobody confirms that deletion. Those that
        tolerate it, as a DaemonSet's do, stay."""
        loop_after = None
        condition = find_condition(node, "Ready") or {}
        since = self.context.now().timestamp() - _seconds(condition.get("lastTransitionTime"), self.context)
        for pod in self.informer(POD).by_index(BY_NODE, node["metadata"]["name"]):
            if is_deleting(pod) or status_of(pod).get("phase") in FINISHED:
                continue
            if has_condition(pod, "Ready"):
                _, conditions = status_at(Step.LOST, pod, self.context.timestamp())
                wanted = [c for c in conditions if c["type"] in ("Ready", "ContainersReady")]
                await self.context.put_status(POD, pod, {}, wanted)
            if _stays(pod):
                continue
            left = self.context.options.unreachable_eviction_s - since
            if left > 0:
                loop_after = left
                continue
            await self.context.delete(POD, pod)
        return max(loop_after, 0.2) if loop_after is not None else 1.0

    async def _recover(self, node: Object) -> None:
        if node["metadata"]["name"] not in self._faulty and find_condition(node, "Ready") is None:
            return
        condition = find_condition(node, "Ready") or {}
        if condition.get("reason") != "NodeStatusUnknown":
            return
        conditions = [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            },
            *({"type": name, "status": "False", "reason": f"KubeletHas{_enough(name)}"} for name in PRESSURES),
        ]
        await self.context.put_status(NODE, node, {}, conditions)
        taints = [t for t in spec_of(node).get("taints") or () if t["key"] != UNREACHABLE]
        await self._patch(node, {"spec": {"taints": taints or None}}, done=not spec_of(node).get("taints"))

    async def _gpus(self, node: Object) -> None:
        capacity = (status_of(node).get("capacity") or {}).get(GPU)
        if capacity is None:
            return
        count = devices(capacity)
        wanted = str(count - min(self._unhealthy(node), count))
        if (status_of(node).get("allocatable") or {}).get(GPU) != wanted:
            await self.context.put_status(NODE, node, {"allocatable": {GPU: wanted}})

    async def _label(self, node: Object) -> None:
        """The fault `label-removed` takes a label away once; what an admin writes afterwards stays."""
        name = node["metadata"]["name"]
        fault = self.context.faults.active("label-removed")
        label = str(fault.parameters.get("label", "")) if fault else ""
        concerns = fault is not None and fault.parameters.get("node", name) == name
        removed = self._removed_labels.get(name, {})
        if concerns and label in labels_of(node) and label not in removed:
            self._removed_labels.setdefault(name, {})[label] = labels_of(node)[label]
            await self._patch(node, {"metadata": {"labels": {label: None}}}, done=False)
        elif not concerns and removed:
            missing = {k: v for k, v in removed.items() if k not in labels_of(node)}
            # Of this version only: a label that was written by hand may not have been told yet.
            seen = node["metadata"]["resourceVersion"]
            await self._patch(node, {"metadata": {"labels": missing, "resourceVersion": seen}}, done=not missing)
            del self._removed_labels[name]

    def _unhealthy(self, node: Object) -> int:
        fault = self.context.faults.active("gpu-unhealthy")
        number = int(annotations_of(node).get(UNHEALTHY_GPUS, "0"))
        if fault is not None and fault.parameters.get("node") == node["metadata"]["name"]:
            number += int(fault.parameters.get("count", 1))
        return number

    def _is_lost(self, node: Object) -> bool:
        fault = self.context.faults.active("node-lost")
        name = node["metadata"]["name"]
        return fault is not None and fault.parameters.get("node", name) == name

    async def _patch(self, node: Object, body: Any, *, done: bool) -> None:
        if not done:
            await self.context.client.patch(NODE, node["metadata"]["name"], None, body)

    def _on_fault(self) -> None:
        """Every node that a fault concerns now or did before looks again."""
        now = set()
        for name in ("node-lost", "gpu-unhealthy", "label-removed"):
            fault = self.context.faults.active(name)
            if fault is not None:
                target = fault.parameters.get("node")
                everything = [n["metadata"]["name"] for n in self.informer(NODE).values()]
                now |= {str(target)} if target else set(everything)
        for node in now | self._faulty:
            self.queue.add(("", node))
        self._faulty = now


def _stays(pod: Object) -> bool:
    """Whether it tolerates an unreachable node without an end."""
    endless = [each for each in spec_of(pod).get("tolerations") or () if each.get("tolerationSeconds") is None]
    return untolerated([EVICTING], map(read_toleration, endless)) is None


def _seconds(moment: str | None, context: Context) -> float:
    return parse_timestamp(moment).timestamp() if moment else context.now().timestamp()


def _enough(pressure: str) -> str:
    return {
        "MemoryPressure": "SufficientMemory",
        "DiskPressure": "NoDiskPressure",
        "PIDPressure": "SufficientPID",
    }[pressure]
