"""Knows when Muster and somebody else set the same fields again and again, so that one of the two stops: Muster.

Kept in the memory of each worker, for as long as its gateway: a worker that starts anew may try a few times more.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from threading import Lock
from weakref import WeakKeyDictionary

from clusters.kube.errors import GatewayError
from clusters.kube.gateway import Gateway

MOST = 5
WITHIN = timedelta(minutes=10)
KEPT = 10_000

_Times = OrderedDict[str, deque[datetime]]  # uid → when it was put right
_repairs: WeakKeyDictionary[Gateway, _Times] = WeakKeyDictionary()
_lock = Lock()


class Fought(GatewayError):
    """Somebody else sets fields of an object of ours back each time: Muster puts them right no more for a while."""

    reason = "Fought"


def check_fight(gateway: Gateway, uid: str, target: str, fields: Sequence[str], others: Sequence[str]) -> None:
    """Note that fields of the object are about to be put right. Raises `Fought` after `MOST` times `WITHIN` a while."""
    now = datetime.now(UTC)
    with _lock:
        known = _repairs.setdefault(gateway, OrderedDict())
        times = known.setdefault(uid, deque(maxlen=MOST))
        known.move_to_end(uid)
        while len(known) > KEPT:
            known.popitem(last=False)
        if len(times) < MOST or not timedelta(0) <= now - times[0] < WITHIN:
            times.append(now)
            return
        again = times[0] + WITHIN
    who = ", ".join(others) or "Somebody else"
    raise Fought(
        f"{who} sets {', '.join(fields)} of {target} each time that Muster puts it right. "
        f"Muster did so {MOST} times and leaves it until {again:%H:%M} UTC: make one of the two stop.",
        target=target,
    )
