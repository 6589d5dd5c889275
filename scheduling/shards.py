"""What one shard of the scheduler sees: a pool is a value of the node-pool label, or its absence."""

import msgspec

from scheduling.structs import Node, Snapshot

POOL_LABEL = "kai.scheduler/node-pool"


def of_pool(snapshot: Snapshot, pool: str) -> Snapshot:
    """The part of a whole cluster that the shard of a pool works on.

    Nodes, queues and pod groups are chosen by their own label. Pods follow their pod group; those that
    run on a node of the pool stay in any case, because they take its room.
    """
    nodes = tuple(node for node in snapshot.nodes if _labelled(node, pool))
    groups = tuple(group for group in snapshot.podgroups if group.pool == pool)
    names = {node.name for node in nodes}
    keys = {group.key for group in groups}
    return msgspec.structs.replace(
        snapshot,
        nodes=nodes,
        queues=tuple(queue for queue in snapshot.queues if queue.pool == pool),
        podgroups=groups,
        pods=tuple(pod for pod in snapshot.pods if pod.podgroup in keys or pod.node in names),
        pool=pool,
    )


def _labelled(node: Node, pool: str) -> bool:
    return node.labels.get(POOL_LABEL) == pool if pool else POOL_LABEL not in node.labels
