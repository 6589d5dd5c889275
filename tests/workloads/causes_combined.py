"""Several things are broken at once, and all of them have to be undone."""

from collections.abc import Callable
from typing import Any

from clusters.kinds import (
    KAI_QUEUE,
)
from tests.workloads.causes import (
    Document,
    Situation,
    add_nodes,
    annotated,
    create,
    fault,
    freed,
    healed,
    held,
    nodes_patched,
    pods_grouped,
    racked,
    then,
    written_back,
)
from tests.workloads.causes_acts import (
    made_ready,
    selecting,
    unlimited,
)
from tests.workloads.simulated import node, queue
from tests.workloads.test_diagnosis import TAINT, unready


def all_bad(**spec: Any) -> Callable[[], list[Document]]:
    """Four nodes with the same fault in their spec."""
    return lambda: [node(f"n{n}", f"z1.r{n // 2}", **spec) for n in range(4)]


LIMITED = {"research": {}, "assistant": {"parent": "research", "limit": 8}}
UNCORDONED = nodes_patched({"spec": {"unschedulable": None}})
UNTAINTED = nodes_patched({"spec": {"taints": None}})
SITUATIONS: dict[str, Situation] = {
    "a limit, and cordoned nodes": Situation(
        ("OverLimit", "NodesCordoned"),
        then(unlimited("assistant"), UNCORDONED),
        queues=LIMITED,
        nodes=all_bad(unschedulable=True),
    ),
    "cordoned nodes, and a taint on them": Situation(
        ("NodesCordoned", "NodesTainted"),
        then(UNCORDONED, UNTAINTED),
        nodes=all_bad(unschedulable=True, taints=[TAINT]),
    ),
    "no parent of its queue, and a selector that matches nothing": Situation(
        ("QueueParentMissing", "SelectorMatchesTooFew"),
        then(
            lambda stage: create(stage, KAI_QUEUE, queue("research")),
            nodes_patched({"metadata": {"labels": {"gpu": "h200"}}}),
        ),
        queues={"assistant": {"parent": "research"}},
        document=selecting,
    ),
    "the scheduler is down, and the pool is too small": Situation(
        ("ComponentDown", "PoolTooSmall"),
        then(healed, lambda stage: add_nodes(stage, node("n1", "z1.r0"))),
        nodes=lambda: [node("n0", "z1.r0")],
        before=fault("operator-down", name="kai-scheduler"),
        seen=pods_grouped,
    ),
    "a limit, an unknown level, and nodes that are not ready": Situation(
        ("OverLimit", "LevelUnknown", "NodesNotReady"),
        then(unlimited("assistant"), written_back, made_ready),
        source=racked(2),
        queues=LIMITED,
        nodes=lambda: [unready(f"n{n}", f"z1.r{n // 2}") for n in range(4)],
        document=annotated(topology="topology-1", required="topology.kubernetes.io/Rack"),
    ),
    "a limit, a taint, and a full rack": Situation(
        ("OverLimit", "NodesTainted", "LevelFull"),
        then(unlimited("assistant"), UNTAINTED, freed("n0", "n2")),
        source=racked(2),
        queues=LIMITED,
        nodes=all_bad(taints=[TAINT]),
        before=held(n0=8, n2=8),
    ),
}
