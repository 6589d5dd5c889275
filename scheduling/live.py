"""Scenarios recorded on the live stack: objects arrive in steps, with actions in between."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from scheduling.cycle import run_cycle
from scheduling.golden import CLOCK, NAMESPACE, after, gangs_of, nodes_of, per_node, queues_of, topologies_of
from scheduling.shards import POOL_LABEL, of_pool
from scheduling.structs import Condition, CycleResult, Level, Node, Pod, PodGroup, Resources, SchedulerConfig, Snapshot

Json = Mapping[str, Any]

MAX_CYCLES = 12
CYCLE_SECONDS = 0.2
STEP_SECONDS = 2.0
_RETRY = re.compile(r"-r\d+$")
_SPACE = re.compile(rf"\b{NAMESPACE}/")
_POD = re.compile(r"<ns>/([\w-]+)-\d+(?:-r\d+)?\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class LiveReplay:
    """A live scenario, step by step: each step's objects arrive together, then cycles run until all is quiet.

    An evicted pod takes one more cycle to end, so its place is not free at once.
    """

    def __init__(self, case: Json) -> None:
        self.case = case
        self.spread = case.get("placement") == "spread"
        self.pools = ("", *case.get("schedulers", ()))
        self.conditions: dict[str, Condition] = {}
        self.evicted: dict[str, set[str]] = {}
        self.fair_share: dict[str, Resources] = {}
        self.pod_texts: dict[str, str] = {}
        self.groups, self.pods = _live_gangs(case)
        nodes = tuple(_pooled(node, row.get("pool")) for node, row in zip(nodes_of(case), case["nodes"], strict=True))
        self.snapshot = Snapshot(
            nodes=nodes,
            queues=queues_of(case),
            podgroups=(),
            pods=(),
            topologies=topologies_of(case),
            now=CLOCK,
        )

    @property
    def steps(self) -> int:
        """How many steps the scenario has."""
        numbers = [row.get("step", 0) for row in (*self.case["workloads"], *self.case.get("actions", ()))]
        return 1 + max(numbers, default=0)

    def step(self, number: int) -> None:
        """Add the objects of a step, perform its actions and run until nothing changes."""
        added = [name for name, row in self._rows() if row.get("step", 0) == number]
        groups = tuple(
            msgspec.structs.replace(group, created=self.snapshot.now + 0.001 * place)
            for place, (group, workload) in enumerate(self.groups)
            if workload in added
        )
        pods = tuple(pod for pod, workload in self.pods if workload in added)
        self._replace(podgroups=(*self.snapshot.podgroups, *groups), pods=(*self.snapshot.pods, *pods))
        for action in self.case.get("actions", ()):
            if action.get("step", 0) == number:
                _ACTIONS[action["do"]](self, action)
        self._settle()
        self._replace(now=self.snapshot.now + STEP_SECONDS)
        self._settle()

    def counts(self, workload: str) -> dict[str, int]:
        """Pods of a workload on each node."""
        names = {pod.name for pod, owner in self.pods if owner == workload}
        return per_node(self.snapshot, [pod.name for pod in self.snapshot.pods if _RETRY.sub("", pod.name) in names])

    def victims(self, workload: str) -> int:
        """How many pods of a workload were evicted so far."""
        return len(self.evicted.get(workload, ()))

    def texts(self, workload: str) -> Counter[str]:
        """The messages of a workload's conditions."""
        keys = {group.key for group, owner in self.groups if owner == workload}
        return Counter(_impersonal(condition.message) for key, condition in self.conditions.items() if key in keys)

    def refusals(self, workload: str) -> Counter[str]:
        """The messages of a workload's pods that wait."""
        names = {f"{NAMESPACE}/{pod.name}" for pod, owner in self.pods if owner == workload}
        living = {pod.key for pod in self.snapshot.pods}
        texts = (text for key, text in self.pod_texts.items() if _RETRY.sub("", key) in names and key in living)
        return Counter(map(_impersonal, texts))

    def _rows(self) -> Iterable[tuple[str, Json]]:
        return ((row["name"], row) for row in self.case["workloads"])

    def _replace(self, **changes: Any) -> None:
        self.snapshot = msgspec.structs.replace(self.snapshot, **changes)

    def _settle(self) -> None:
        for _ in range(MAX_CYCLES):
            results = [self._cycle(pool) for pool in self.pools]
            busy = any(result.bound or result.evicted or result.pipelined for result in results)
            if not busy and not any(pod.releasing for pod in self.snapshot.pods):
                return

    def _cycle(self, pool: str) -> CycleResult:
        config = SchedulerConfig(gpu_placement="spread", cpu_placement="spread") if self.spread else SchedulerConfig()
        result = run_cycle(of_pool(self.snapshot, pool), config)
        for key in result.cleared:
            self.conditions.pop(key, None)
        self.conditions.update(result.conditions)
        self.fair_share.update(result.fair_share)
        self.pod_texts.update((key, condition.message) for key, condition in result.pod_conditions.items())
        for key in result.bound:
            self.pod_texts.pop(key, None)
        now = self.snapshot.now
        leaving = [msgspec.structs.replace(pod, releasing=True) for pod in self._evicted_by(result)]
        staying = after(self.snapshot, result)
        gone = [pod for pod in staying.pods if pod.releasing]
        pods = [pod for pod in staying.pods if not pod.releasing]
        if self.case.get("recreate_evicted"):
            pods.extend(_again(pod) for pod in gone)
        self.snapshot = msgspec.structs.replace(staying, pods=(*pods, *leaving), now=now + CYCLE_SECONDS)
        owners = {pod.name: workload for pod, workload in self.pods}
        for pod in leaving:
            self.evicted.setdefault(owners[_RETRY.sub("", pod.name)], set()).add(pod.name)
        return result

    def _evicted_by(self, result: CycleResult) -> list[Pod]:
        keys = {eviction.pod for eviction in result.evicted}
        return [pod for pod in self.snapshot.pods if pod.key in keys]

    def delete_pods(self, action: Json) -> None:
        """Pods disappear."""
        names = set(action["pods"])
        self._replace(pods=tuple(pod for pod in self.snapshot.pods if pod.name not in names))

    def finish_pods(self, action: Json) -> None:
        """Pods end well."""
        names = set(action["pods"])
        self._replace(
            pods=tuple(
                msgspec.structs.replace(pod, phase="Succeeded") if pod.name in names else pod
                for pod in self.snapshot.pods
            )
        )

    def patch_topology(self, action: Json) -> None:
        """A topology gets other levels."""
        levels = tuple(Level(row["nodeLabel"], row.get("alias", "")) for row in action["patch"]["spec"]["levels"])
        self._replace(
            topologies=tuple(
                msgspec.structs.replace(each, levels=levels) if each.name == action["name"] else each
                for each in self.snapshot.topologies
            )
        )

    def label_node(self, action: Json) -> None:
        """A node gets labels."""
        self._replace(
            nodes=tuple(
                msgspec.structs.replace(node, labels={**node.labels, **action["labels"]})
                if node.name == action["node"]
                else node
                for node in self.snapshot.nodes
            )
        )

    def cordon(self, action: Json) -> None:
        """A node becomes unschedulable."""
        self._replace(
            nodes=tuple(
                msgspec.structs.replace(node, unschedulable=True) if node.name == action["node"] else node
                for node in self.snapshot.nodes
            )
        )

    def delete_queue(self, action: Json) -> None:
        """A queue disappears."""
        self._replace(queues=tuple(queue for queue in self.snapshot.queues if queue.name != action["queue"]))

    def wait(self, action: Json) -> None:
        """Time passes, with cycles."""
        for _ in range(int(action["s"])):
            self._settle()
            self._replace(now=self.snapshot.now + 1.0)


_ACTIONS: Mapping[str, Callable[[LiveReplay, Json], None]] = {
    "delete_pods": LiveReplay.delete_pods,
    "finish_pods": LiveReplay.finish_pods,
    "patch_topology": LiveReplay.patch_topology,
    "label_node": LiveReplay.label_node,
    "cordon": LiveReplay.cordon,
    "delete_queue": LiveReplay.delete_queue,
    "wait": LiveReplay.wait,
}


def _again(pod: Pod) -> Pod:
    return msgspec.structs.replace(
        pod, name=f"{pod.name}-r1", uid=f"{pod.uid}-r1", node="", phase="Pending", releasing=False
    )


def _pooled(node: Node, pool: str | None) -> Node:
    return node if pool is None else msgspec.structs.replace(node, labels={**node.labels, POOL_LABEL: pool})


def _live_gangs(case: Json) -> tuple[list[tuple[PodGroup, str]], list[tuple[Pod, str]]]:
    """Pod groups and pods with their workload, the groups named as the podgrouper does."""
    groups: list[tuple[PodGroup, str]] = []
    pods: list[tuple[Pod, str]] = []
    for index, row in enumerate(case["workloads"]):
        own_groups, own_pods = gangs_of({"workloads": [row]})
        made = row["kind"] != "podgroup"
        for group in own_groups:
            name = f"pg-{group.name}-<uid>" if made else group.name
            groups.append((msgspec.structs.replace(group, name=name, uid=f"g{index:05d}-{group.uid}"), row["name"]))
        for pod in own_pods:
            name = pod.podgroup.partition("/")[2]
            key = f"{NAMESPACE}/pg-{name}-<uid>" if made else pod.podgroup
            pods.append((msgspec.structs.replace(pod, podgroup=key, uid=f"p{index:05d}-{pod.uid}"), row["name"]))
    return groups, pods


def _impersonal(message: str) -> str:
    """A message without namespace, pod numbers and times, which differ from run to run."""
    return _TIME.sub("<time>", _POD.sub(r"<ns>/\1-#", _SPACE.sub("<ns>/", message)))


OTHER_PARTS = frozenset("n")
"""Families that record the podgrouper, not the scheduler."""


def comparable(case: Json) -> bool:
    """Whether the scheduler alone decided the scenario and what became of the workloads was recorded."""
    recorded = case["result"]["steps"]
    seen = all("workloads" in step for step in recorded)
    return bool(recorded) and seen and case["family"] not in OTHER_PARTS


def compare_live(case: Json) -> dict[str, list[str]]:
    """Replay a live scenario and list what differs after each step, by the aspects of a replay."""
    replay = LiveReplay(case["input"])
    misses: dict[str, list[str]] = {}
    for recorded in case["result"]["steps"]:
        replay.step(recorded["step"])
        for workload, row in recorded.get("workloads", {}).items():
            for aspect, wanted, own in _aspects(replay, workload, row):
                if wanted != own:
                    text = f"step {recorded['step']} {workload}: recorded {wanted}, got {own}"
                    misses.setdefault(aspect, []).append(text)
        for queue, row in (recorded.get("fair_share_metric") or {}).items():
            own = replay.fair_share.get(queue, Resources()).gpu
            if abs(row["gpu"] - own) > 1e-6:
                text = f"step {recorded['step']} {queue}: recorded {row['gpu']}, got {own}"
                misses.setdefault("share", []).append(text)
    return misses


def _aspects(replay: LiveReplay, workload: str, row: Json) -> Iterator[tuple[str, object, object]]:
    counts = replay.counts(workload)
    yield "verdict", row["scheduled"], sum(counts.values())
    yield "nodes", row["per_node"], counts
    yield "victims", len(row["evicted"]), replay.victims(workload)
    texts = (condition["message"] for group in row["podgroups"] for condition in group["schedulingConditions"])
    yield "messages", Counter(map(_impersonal, texts)), replay.texts(workload)
    refused = Counter(
        _impersonal(condition.get("message", ""))
        for condition in row["pod_conditions"]
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
        for _ in condition["pods"]
    )
    yield "messages", refused, replay.refusals(workload)
