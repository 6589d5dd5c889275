"""Events are kept for an hour, as kube-apiserver's `--event-ttl` has it. Leave it out beside a real API server."""

import asyncio
import contextlib
import logging

from clusters.kinds import EVENT
from clusters.operators.objects import parse_timestamp
from simulator.actors.context import Context
from simulator.client import KubeError, Object

log = logging.getLogger(__name__)

KEPT_S = 3600.0
PERIOD_S = 60.0


class EventExpiry:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                await self.expire()
            except (KubeError, OSError) as error:
                log.debug("events not expired: %s", error)

    async def expire(self) -> None:
        """Deletes what happened last more than an hour ago."""
        oldest = self._context.now().timestamp() - KEPT_S
        for number, event in enumerate((await self._context.client.list(EVENT)).items):
            await self._context.breathe(number)
            if last_seen(event) < oldest:
                await self._context.delete(EVENT, event)


def last_seen(event: Object) -> float:
    """Seconds since the epoch; since it was made, of an event whose own times nobody can read."""
    for moment in (event.get("lastTimestamp"), event.get("eventTime")):
        if isinstance(moment, str) and moment:
            with contextlib.suppress(ValueError):
                return parse_timestamp(moment).timestamp()
    return parse_timestamp(event["metadata"]["creationTimestamp"]).timestamp()
