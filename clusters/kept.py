"""What pages compute from all nodes and pods of a large cluster, kept in this process until one of those changes.

The watcher raises a cluster's `nodes_version` and `pods_version` in the transaction that writes rows, so what was
computed at one pair of them holds while they stand. Small clusters are computed anew each time: that costs less.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

LARGE_NODES = 250
MOST = 64

_found: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
_lock = Lock()


def kept(key: Hashable, version: Hashable, compute: Callable[[], T]) -> T:
    """The value of `compute` for this version of `key`; at most `MOST` values are kept, those used last. Version None:
    compute it and keep nothing."""
    if version is None:
        return compute()
    with _lock:
        known = _found.get(key)
        if known is not None and known[0] == version:
            _found.move_to_end(key)
            value: T = known[1]
            return value
    value = compute()
    with _lock:
        _found[key] = (version, value)
        _found.move_to_end(key)
        while len(_found) > MOST:
            _found.popitem(last=False)
    return value
