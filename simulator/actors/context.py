"""What every actor is given: the client, shared caches, options, faults, events and the clock."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime
from typing import Any

from clusters.kinds import Kind
from clusters.operators.objects import conditions_of, contains, key_of, merged_conditions, status_of
from core.moments import rfc3339
from simulator.actors.events import EventRecorder
from simulator.actors.informer import InformerSet
from simulator.actors.options import ActorOptions
from simulator.client import KubeClient, KubeError, Object
from simulator.faults import Faults

log = logging.getLogger(__name__)

DOWN_POLL_S = 0.2
BATCH = 5


class Context:
    """Shared by all actors of one process; also the few writes that they have in common."""

    def __init__(self, client: KubeClient, options: ActorOptions, faults: Faults | None = None) -> None:
        self.client = client
        self.options = options
        self.faults = faults or Faults()
        self.informers = InformerSet(client, options.resync_s)
        self.events = EventRecorder(client, self.now)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def timestamp(self) -> str:
        return rfc3339(self.now())

    async def wait_up(self, component: str) -> None:
        """Returns once the fault `operator-down` is off for the component."""
        while self.is_down(component):
            await asyncio.sleep(DOWN_POLL_S)

    def is_down(self, component: str) -> bool:
        """Whether the fault `operator-down` concerns this component."""
        fault = self.faults.active("operator-down")
        return fault is not None and fault.parameters.get("name", component) == component

    async def breathe(self, number: int) -> None:
        """In a loop over many writes: lets other tasks run now and then, which an in-process client never does."""
        if number % BATCH == BATCH - 1:
            await asyncio.sleep(0)

    async def ensure(self, kind: Kind, manifest: Object) -> tuple[Object, bool]:
        """Creates the object or merges what differs; (object, whether something was written).

        An object that is being deleted is left alone.
        """
        informer = self.informers.of(kind)
        key = key_of(manifest)
        current = informer.get(key)
        if current is None:
            try:
                created = await self.client.create(kind, manifest, key[0] or None)
            except KubeError as error:
                if error.code != 409:
                    raise
                current = await self.client.get(kind, key[1], key[0] or None)
                if current is None:
                    raise
                informer.store(current)
            else:
                informer.store(created)
                return created, True
        if current["metadata"].get("deletionTimestamp") or contains(current, manifest):
            return current, False
        changed = await self.client.patch(kind, key[1], key[0] or None, manifest)
        return changed, True

    async def put_status(self, kind: Kind, obj: Object, status: Object, conditions: Iterable[Object] = ()) -> bool:
        """Merges `status` and conditions (by type) into the object's status; False when it says so already."""
        merged = merged_conditions(conditions_of(obj), conditions, self.timestamp())
        wanted: dict[str, Any] = {**status, "conditions": merged} if merged else dict(status)
        if contains(status_of(obj), wanted):
            return False
        namespace, name = key_of(obj)
        await self._tolerating_absence(
            self.client.patch(kind, name, namespace or None, {"status": wanted}, subresource="status")
        )
        return True

    async def set_finalizers(self, kind: Kind, obj: Object, finalizers: list[str]) -> None:
        """Replaces the finalizers, on this very object only."""
        if list(obj["metadata"].get("finalizers") or ()) == finalizers:
            return
        namespace, name = key_of(obj)
        metadata = {"uid": obj["metadata"]["uid"], "finalizers": finalizers}
        await self._tolerating_absence(self.client.patch(kind, name, namespace or None, {"metadata": metadata}))

    async def delete(self, kind: Kind, obj: Object, *, grace_period_seconds: int | None = None) -> None:
        """Deletes this very object (by uid); absent or replaced is fine."""
        namespace, name = key_of(obj)
        await self._tolerating_absence(
            self.client.delete(
                kind,
                name,
                namespace or None,
                uid=obj["metadata"]["uid"],
                grace_period_seconds=grace_period_seconds,
            )
        )

    async def _tolerating_absence(self, call: Awaitable[Any]) -> None:
        try:
            await call
        except KubeError as error:
            if error.code not in (404, 409):
                raise
