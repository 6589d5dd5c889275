"""What packages above topology do when a node pool is made or its deletion asked for.

They register a function when the process starts (`AppConfig.ready`); it runs in the transaction of the change.
"""

from collections.abc import Callable

from topology.models import NodePool

NodePoolListener = Callable[[NodePool], None]

_listeners: list[NodePoolListener] = []


def on_node_pool_change(listener: NodePoolListener) -> None:
    """Call `listener(pool)` whenever a pool was created or its deletion requested. Registering twice counts once."""
    if listener not in _listeners:
        _listeners.append(listener)


def node_pool_changed(pool: NodePool) -> None:
    """Tell every listener."""
    for listener in _listeners:
        listener(pool)
