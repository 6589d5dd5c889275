"""The loop of a controller: keys from caches, a few workers, back-off on failure, paused while its operator is down."""

import asyncio
import logging
from collections.abc import Callable, Iterable

from clusters.kinds import Kind
from clusters.operators.objects import Key, annotations_of, key_of, labels_of
from simulator.actors.context import Context
from simulator.actors.informer import Informer
from simulator.actors.workqueue import WorkQueue
from simulator.client import KubeError, Object

log = logging.getLogger(__name__)

ToKeys = Callable[[Object], Iterable[Key]]
Concerns = Callable[[Object, Object], bool]


def replaced_or_deleting(old: Object, new: Object) -> bool:
    """Another object of the name, or the same one on its way out: nothing else matters to who counts objects."""
    before, after = old["metadata"], new["metadata"]
    return before["uid"] != after["uid"] or ("deletionTimestamp" in before) != ("deletionTimestamp" in after)


def described_anew(old: Object, new: Object) -> bool:
    """Labels or annotations changed."""
    return labels_of(old) != labels_of(new) or annotations_of(old) != annotations_of(new)


class Controller:
    """Subclasses set `component` and `kinds`, call `watch` in `setup`, and write `reconcile`."""

    component = ""
    """Deployment that the fault `operator-down` may stop."""
    kinds: tuple[Kind, ...] = ()
    workers = 4

    def __init__(self, context: Context) -> None:
        self.context = context
        self.queue: WorkQueue[Key] = WorkQueue()
        self._complained: set[Key] = set()
        self.setup()

    def setup(self) -> None:
        """Subscribes to caches and adds indexes; runs before anything is listed."""

    async def reconcile(self, key: Key) -> float | None:
        """Brings one object where it should be; returns seconds after which to look again, or None."""
        raise NotImplementedError

    def informer(self, kind: Kind) -> Informer:
        return self.context.informers.of(kind)

    def watch(self, kind: Kind, to_keys: ToKeys | None = None, *, when: Concerns | None = None) -> None:
        """Queues the changed object itself, or what `to_keys` makes of its old and new state.

        `when(old, new)` says whether a change of an object that was there before matters.
        """

        def on_change(old: Object | None, new: Object | None) -> None:
            if old is not None and new is not None and when is not None and not when(old, new):
                return
            for obj in (old, new):
                if obj is not None:
                    for key in [key_of(obj)] if to_keys is None else to_keys(obj):
                        self.queue.add(key)

        self.informer(kind).subscribe(on_change)

    async def run(self) -> None:
        await self.context.informers.wait_synced(self.kinds)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.workers):
                    group.create_task(self._work(), name=f"{type(self).__name__} {number}")
        finally:
            self.queue.close()

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            await self.context.wait_up(self.component)
            try:
                again = await self.reconcile(key)
            except (KubeError, OSError) as error:
                log.debug("%s %s: %s", type(self).__name__, key, error)
                self.queue.retry(key)
            except Exception as error:
                # The edge of an operator process: one object that cannot be handled must not stop the others.
                self._complain(key, error)
                self.queue.retry(key)
            else:
                self.queue.forget(key)
                self._complained.discard(key)
                if again is not None:
                    self.queue.add_after(key, again)
            finally:
                self.queue.done(key)
            await asyncio.sleep(0)  # an in-process client never waits: let the API server answer others in between

    def _complain(self, key: Key, error: Exception) -> None:
        """Logs the error once until the object could be handled."""
        if key not in self._complained:
            self._complained.add(key)
            log.error("%s cannot handle %s", type(self).__name__, "/".join(filter(None, key)), exc_info=error)
