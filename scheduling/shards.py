"""What one shard of the scheduler sees: a pool is a value of the node-pool label, or its absence."""

from collections.abc import Mapping

import msgspec

from scheduling.structs import Snapshot

POOL_LABEL = "kai.scheduler/node-pool"
EMPTY_POOL = "(empty)"
"""The pool of what carries the label with an empty value: no shard's, for the default one takes what lacks the label
(reference kai-scheduler.md, trap 10). No label value can be written so."""


def pool_of_labels(labels: Mapping[str, object]) -> str:
    """The pool whose shard sees an object with these labels; "" is the default one."""
    return str(labels[POOL_LABEL] or EMPTY_POOL) if POOL_LABEL in labels else ""


def of_pool(snapshot: Snapshot, pool: str) -> Snapshot:
    """The part of a whole cluster that the shard of a pool works on.

    Nodes, queues and pod groups are chosen by their own label. Pods follow their pod group; those that
    run on a node of the pool stay in any case, because they take its room. Where there is one pool only, all stay.
    """
    nodes = tuple(node for node in snapshot.nodes if pool_of_labels(node.labels) == pool)
    groups = tuple(group for group in snapshot.podgroups if group.pool == pool)
    queues = tuple(queue for queue in snapshot.queues if queue.pool == pool)
    kinds = ((nodes, snapshot.nodes), (groups, snapshot.podgroups), (queues, snapshot.queues))
    if all(len(own) == len(every) for own, every in kinds):
        return msgspec.structs.replace(snapshot, pool=pool)
    names = {node.name for node in nodes}
    keys = {group.key for group in groups}
    return msgspec.structs.replace(
        snapshot,
        nodes=nodes,
        queues=queues,
        podgroups=groups,
        pods=tuple(pod for pod in snapshot.pods if pod.podgroup in keys or pod.node in names),
        pool=pool,
    )
