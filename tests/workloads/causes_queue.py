"""Situations before any node is looked at: pool, shard, queue, the gang itself, limits and quotas."""

from clusters.kinds import (
    KAI_QUEUE,
)
from tests.workloads.causes import (
    NO_SCHEDULER,
    POOL,
    Situation,
    all_act,
    create,
    delete,
    groups_patched,
    of_role,
    pods_grouped,
    queue_patched,
    scaled,
    then,
    written_back,
)
from tests.workloads.causes_acts import (
    H200,
    NON_PREEMPTIBLE,
    base_only,
    circle,
    h200_nodes,
    h200_queues,
    in_another_queue,
    judged_all,
    label_lost,
    lost_pod,
    lost_subgroup,
    one_try,
    probed,
    queue_gone,
    shard,
    some_run,
    unlimited,
    without_queue_name,
)
from tests.workloads.simulated import four_nodes, queue
from tests.workloads.test_diagnosis import MULTINODE, graph
from tests.workloads.waiting import QUEUES

SITUATIONS: dict[str, Situation] = {
    "its pods are in another pool than it was meant for": Situation(
        ("PoolWrong",),
        groups_patched({"metadata": {"labels": {POOL: "h200"}}}),
        pool="h200",
        nodes=h200_nodes,
        queues=H200,
        before=then(shard, h200_queues),
        document=label_lost,
    ),
    "no scheduler runs for its pool": Situation(
        ("ShardMissing",), shard, pool="h200", nodes=h200_nodes, queues=H200, before=h200_queues, seen=pods_grouped
    ),
    "its pod group is in another queue": Situation(
        ("QueueNotArrived",),
        groups_patched({"spec": {"queue": "assistant"}}),
        queues={**QUEUES, "other": {"limit": 4}},
        idle=NO_SCHEDULER,
        after=in_another_queue,
    ),
    "queues in a circle hang the scheduler": Situation(
        ("SchedulerHangs",), queue_patched("x", {"spec": {"parentQueue": None}}), before=circle, seen=pods_grouped
    ),
    "its pod group names no queue": Situation(
        ("QueueUnset",),
        groups_patched({"spec": {"queue": "assistant"}}),
        idle=NO_SCHEDULER,
        after=without_queue_name,
        seen=judged_all,
    ),
    "its queue is gone": Situation(
        ("QueueMissing",),
        lambda stage: create(stage, KAI_QUEUE, queue("assistant", "research")),
        idle=NO_SCHEDULER,
        after=queue_gone,
    ),
    "its queue belongs to another pool": Situation(
        ("QueueOtherPool",),
        queue_patched("assistant", {"metadata": {"labels": {POOL: None}}}),
        before=queue_patched("assistant", {"metadata": {"labels": {POOL: "h200"}}}),
    ),
    "its queue's parent is missing": Situation(
        ("QueueParentMissing",),
        lambda stage: create(stage, KAI_QUEUE, queue("research")),
        queues={"assistant": {"parent": "research"}},
    ),
    "field report 20: its queue has queues below it": Situation(
        ("QueueNotLeaf",),
        lambda stage: delete(stage, KAI_QUEUE, "child"),
        queues={**QUEUES, "child": {"parent": "assistant"}},
        seen=judged_all,
    ),
    "it asked for one try": Situation(
        ("BackedOff",),
        groups_patched({"spec": {"schedulingBackoff": -1}}),
        nodes=lambda: four_nodes()[:1],
        idle=NO_SCHEDULER,
        after=one_try,
        seen=judged_all,
    ),
    "a pod names an unknown subgroup": Situation(
        ("SubGroupUnknown",), all_act, idle=NO_SCHEDULER, after=lost_subgroup, seen=probed
    ),
    "a pod of the gang is missing": Situation(
        ("PodsMissing",), all_act, idle=NO_SCHEDULER, after=lost_pod, seen=judged_all
    ),
    "a role has no replicas": Situation(
        ("ScaledBelowMinimum",),
        written_back,
        source=graph(replicas=1) + of_role("prefill", 8),
        document=scaled(1, 0),
        seen=judged_all,
    ),
    "field report 31: gates stay shut": Situation(
        ("PodsGated",), all_act, source=MULTINODE, idle=NO_SCHEDULER, after=base_only, seen=some_run(2), pods=4
    ),
    "the limit of its queue": Situation(
        ("OverLimit",), unlimited("assistant"), queues={"research": {}, "assistant": {"parent": "research", "limit": 8}}
    ),
    "the limit of its department": Situation(
        ("OverLimit",), unlimited("research"), queues={"research": {"limit": 8}, "assistant": {"parent": "research"}}
    ),
    "not preemptible, over the department's quota": Situation(
        ("NonPreemptibleOverQuota",),
        queue_patched("research", {"spec": {"resources": {"gpu": {"quota": 16}}}}),
        source=NON_PREEMPTIBLE,
        queues={"research": {"quota": 8}, "assistant": {"parent": "research", "quota": 32}},
    ),
}
