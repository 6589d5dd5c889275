"""Drives bound pods through their life, and removes those that were deleted, for all nodes at once."""

import asyncio
from collections.abc import Mapping

from clusters.kinds import CONFIG_MAP, NODE, POD, SECRET
from clusters.operators.objects import Key, has_condition, is_deleting, key_of, spec_of, status_of
from scheduling.structs import FINISHED
from simulator.actors.context import Context
from simulator.actors.controller import Controller
from simulator.actors.grove.podclique import BY_CLIQUE, clique_key
from simulator.actors.kubelet.crashes import Exit, back_off, crashed_status, exit_of, restarts_of
from simulator.actors.kubelet.lifecycle import NOTHING, Failure, Step, images_of, status_at, waits_for
from simulator.actors.kubelet.output import Output
from simulator.actors.kubelet.references import Read, missing_pull_secrets, missing_reference, missing_volume
from simulator.client import Object

BY_NODE = "node"
INIT_POLL_S = 0.5


class PodLifecycle(Controller):
    """A pod that is Running and Ready costs nothing: it is not even queued."""

    kinds = (POD, NODE, SECRET, CONFIG_MAP)
    workers = 8

    def __init__(self, context: Context, output: Output) -> None:
        self._output = output
        self._bound_at: dict[str, float] = {}
        self._started_at: dict[str, float] = {}
        self._crashed_at: dict[str, float] = {}
        self._deleted_at: dict[str, float] = {}
        super().__init__(context)

    def setup(self) -> None:
        pods = self.informer(POD)
        pods.add_index(BY_NODE, lambda pod: [spec_of(pod).get("nodeName") or ""])
        pods.add_index(BY_CLIQUE, lambda pod: ["/".join(key) for key in clique_key(pod)])
        pods.subscribe(self._on_removed)
        self.watch(POD, _needs_work)
        for kind in (SECRET, CONFIG_MAP):
            self.informer(kind)
        self.informer(NODE).subscribe(self._on_node)
        self.context.faults.on_change(self._on_fault)

    async def reconcile(self, key: Key) -> float | None:
        pod = self.informer(POD).get(key)
        if pod is None:
            self._output.forget(key)
            return None
        node = spec_of(pod).get("nodeName") or ""
        if is_deleting(pod):
            return await self._terminate(pod, node)
        if node and self.informer(NODE).get(("", node)) is None:
            return await self._collect(pod)
        if not node or status_of(pod).get("phase") in FINISHED:
            return None
        if self._is_lost(node):
            return None
        return await self._advance(pod)

    async def _advance(self, pod: Object) -> float | None:
        """One step of a starting pod; seconds until the next one."""
        if status_of(pod).get("phase") != "Running":
            return await self._start(pod)
        if has_condition(pod, "Ready"):
            return None
        uid, now = pod["metadata"]["uid"], asyncio.get_running_loop().time()
        left = self._started_at.setdefault(uid, now) + self.context.options.readiness_s - now
        if left > 0:
            return left
        ended = exit_of(pod)
        if ended is not None:
            return await self._crash(pod, ended)
        await self._write(pod, Step.READY)
        self._output.ready(pod)
        return None

    async def _start(self, pod: Object) -> float:
        uid, now = pod["metadata"]["uid"], asyncio.get_running_loop().time()
        held = await self._hold_back(pod)
        if held is not None:
            return held
        if not self._predecessors_ready(pod):
            await self._write(pod, Step.WAITING_FOR_INIT)
            return INIT_POLL_S
        left = self._bound_at.setdefault(uid, now) + self.context.options.container_start_s - now
        if left > 0:
            await self._write(pod, Step.CREATING)
            return left
        missing = self._missing(pod, "containers")
        if missing:
            return await self._fail_config(pod, Step.CONFIG_FAILED, missing)
        await self._write(pod, Step.RUNNING)
        self._started_at[uid] = now
        self._output.start(pod)
        return self.context.options.readiness_s

    async def _hold_back(self, pod: Object) -> float | None:
        """What keeps even the init containers from starting: seconds until it is looked at again, None for nothing."""
        unmounted = missing_volume(pod, self._reader(pod))
        if unmounted:
            await self._write(pod, Step.CREATING)
            self._warn(pod, "FailedMount", unmounted)
            return self.context.options.image_retry_s
        failing = self._failing_image(pod)
        if failing:
            return await self._fail_image(pod, failing)
        secrets = missing_pull_secrets(pod, self._reader(pod))
        if secrets:
            text = (
                f"Unable to retrieve some image pull secrets ({', '.join(secrets)}); attempting to pull the image may"
            )
            self._warn(pod, "FailedToRetrieveImagePullSecret", f"{text} not succeed.")
            return await self._fail_image(pod, next(iter(images_of(pod)), ""))
        missing = self._missing(pod, "initContainers")
        return await self._fail_config(pod, Step.INIT_FAILED, missing) if missing else None

    async def _crash(self, pod: Object, ended: Exit) -> float:
        """The container has ended; it is started again after a back-off that grows with every time."""
        uid, now = pod["metadata"]["uid"], asyncio.get_running_loop().time()
        again = self._crashed_at.get(uid, 0.0) + back_off(restarts_of(pod)) * self.context.options.crash_scale
        if uid in self._crashed_at and again > now:
            return again - now
        self._crashed_at[uid] = now
        await self.context.put_status(POD, pod, crashed_status(pod, self.context.timestamp(), ended))
        self._output.crash(pod, ended.line)
        return back_off(restarts_of(pod) + 1) * self.context.options.crash_scale

    async def _collect(self, pod: Object) -> float | None:
        """The pod garbage collector: a pod whose node no longer exists goes, after the eviction time."""
        uid, now = pod["metadata"]["uid"], asyncio.get_running_loop().time()
        left = self._deleted_at.setdefault(uid, now) + self.context.options.unreachable_eviction_s - now
        if left > 0:
            return left
        await self.context.delete(POD, pod, grace_period_seconds=0)
        return None

    async def _terminate(self, pod: Object, node: str) -> float | None:
        """The kubelet confirms a deletion; a pod without a node, or whose node is gone, needs none."""
        exists = self.informer(NODE).get(("", node)) is not None
        if node and exists and self._is_lost(node):
            return None
        uid, now = pod["metadata"]["uid"], asyncio.get_running_loop().time()
        grace = pod["metadata"].get("deletionGracePeriodSeconds", 30)
        needed = min(self.context.options.termination_s, grace) if node and exists else 0.0
        left = self._deleted_at.setdefault(uid, now) + needed - now
        if left > 0:
            return left
        await self.context.delete(POD, pod, grace_period_seconds=0)
        self._output.forget(key_of(pod))
        return None

    async def _write(self, pod: Object, step: Step, failing: Mapping[str, Failure] = NOTHING) -> None:
        host = self._address_of_node(spec_of(pod).get("nodeName", ""))
        status, conditions = status_at(step, pod, self.context.timestamp(), host=host, failing=failing)
        await self.context.put_status(POD, pod, status, conditions)

    def _address_of_node(self, name: str) -> str:
        node = self.informer(NODE).get(("", name))
        addresses = status_of(node).get("addresses") or () if node else ()
        return next((str(a["address"]) for a in addresses if a.get("type") == "InternalIP"), "")

    async def _fail_image(self, pod: Object, image: str) -> float:
        waiting = Failure("ImagePullBackOff", f'Back-off pulling image "{image}"')
        parts = [*(spec_of(pod).get("initContainers") or ()), *(spec_of(pod).get("containers") or ())]
        failing = {c["name"]: waiting for c in parts if c.get("image") == image}
        await self._write(pod, Step.IMAGE_FAILED, failing)
        text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to resolve reference'
        self._warn(pod, "Failed", text)
        return self.context.options.image_retry_s

    async def _fail_config(self, pod: Object, step: Step, missing: Mapping[str, Failure]) -> float:
        """Containers whose Secret or ConfigMap is missing wait until somebody makes it."""
        await self._write(pod, step, missing)
        for failure in missing.values():
            self._warn(pod, "Failed", f"Error: {failure.message}")
        return self.context.options.image_retry_s

    def _warn(self, pod: Object, reason: str, text: str) -> None:
        self.context.events.record((POD, pod), reason, text, component="kubelet", event_type="Warning")

    def _reader(self, pod: Object) -> Read:
        namespace = pod["metadata"]["namespace"]
        return lambda kind, name: self.informer(kind).get((namespace, name))

    def _missing(self, pod: Object, section: str) -> dict[str, Failure]:
        namespace, read = pod["metadata"]["namespace"], self._reader(pod)
        found = {c["name"]: missing_reference(c, namespace, read) for c in spec_of(pod).get(section) or ()}
        return {name: Failure("CreateContainerConfigError", text) for name, text in found.items() if text}

    def _failing_image(self, pod: Object) -> str:
        fault = self.context.faults.active("image-not-pullable")
        if fault is None:
            return ""
        part = str(fault.parameters.get("image", ""))
        return next((image for image in images_of(pod) if part in image), "")

    def _predecessors_ready(self, pod: Object) -> bool:
        namespace = pod["metadata"]["namespace"]
        for clique, wanted in waits_for(pod):
            pods = self.informer(POD).by_index(BY_CLIQUE, f"{namespace}/{clique}")
            if sum(has_condition(other, "Ready") for other in pods) < wanted:
                return False
        return True

    def _is_lost(self, node: str) -> bool:
        fault = self.context.faults.active("node-lost")
        return fault is not None and fault.parameters.get("node", node) == node

    def _on_removed(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is None:
            uid = old["metadata"]["uid"]
            for times in (self._bound_at, self._started_at, self._crashed_at, self._deleted_at):
                times.pop(uid, None)

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        """A node that comes or changes lets waiting pods go on; one that goes takes all of its pods along."""
        node = new or old
        if node is not None:
            for pod in self.informer(POD).by_index(BY_NODE, node["metadata"]["name"]):
                for key in [key_of(pod)] if new is None else _needs_work(pod):
                    self.queue.add(key)

    def _on_fault(self) -> None:
        for pod in self.informer(POD).values():
            for key in _needs_work(pod):
                self.queue.add(key)


def _needs_work(pod: Object) -> list[Key]:
    if is_deleting(pod):
        return [key_of(pod)]
    if not spec_of(pod).get("nodeName") or status_of(pod).get("phase") in FINISHED:
        return []
    return [] if has_condition(pod, "Ready") else [key_of(pod)]
