"""The scheduling loop: one per shard, woken by changes, thinking in a thread so that the event loop stays free."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping

from clusters.kinds import KAI_SCHEDULING_SHARD
from clusters.operators.objects import spec_of
from scheduling.cycle import run_cycle
from scheduling.objects import UnreadableObject, shard_config
from scheduling.structs import Resources, SchedulerConfig
from simulator.actors.context import Context
from simulator.actors.scheduler.cache import KINDS, SchedulerCache
from simulator.actors.scheduler.write import SCHEDULER, DecisionWriter
from simulator.client import KubeError, Object

log = logging.getLogger(__name__)

COSTLY_S = 0.3
"""Cycles longer than this are left out when nothing can come of them."""
RETRY_AFTER_CYCLES = 10
"""What stays pending is tried again no sooner than after this many times the length of a cycle."""


class Scheduler:
    """All shards of a cluster: the default one always, and one per SchedulingShard with a partition value."""

    def __init__(self, context: Context) -> None:
        self.fair_share: dict[str, Mapping[str, Resources]] = {}
        """Per shard, per queue: the numbers behind the metric `kai_queue_fair_share_*`."""
        self._context = context
        self._cache = SchedulerCache(context.informers)
        self._cache.on_change = self._wake_all
        self._writer = DecisionWriter(context, self._cache)
        self._shards: dict[str, asyncio.Task[None]] = {}
        self._wake: dict[str, asyncio.Event] = {}
        self._configs: dict[str, SchedulerConfig] = {}
        self._unreadable: dict[str, str] = {}
        self._shards_changed = asyncio.Event()
        context.informers.of(KAI_SCHEDULING_SHARD).subscribe(lambda _old, _new: self._on_shard())

    async def run(self) -> None:
        await self._context.informers.wait_synced((*KINDS, KAI_SCHEDULING_SHARD))
        async with asyncio.TaskGroup() as group:
            while True:
                self._shards_changed.clear()
                wanted = {"", *self._partitions()}
                for pool in wanted - set(self._shards):
                    self._wake[pool] = asyncio.Event()
                    self._shards[pool] = group.create_task(self._run_shard(pool), name=f"shard {pool!r}")
                for pool in set(self._shards) - wanted:
                    self._shards.pop(pool).cancel()
                    del self._wake[pool]
                    self.fair_share.pop(pool, None)
                await self._shards_changed.wait()

    async def _run_shard(self, pool: str) -> None:
        """Waits for a change (or, while something is pending, for the retry period), then thinks once."""
        wake, options = self._wake[pool], self._context.options
        wake.set()
        took, seen = 0.0, -1
        while True:
            retry = max(options.retry_period_s, RETRY_AFTER_CYCLES * took)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(retry if self._cache.has_pending(pool) else None):
                    await wake.wait()
            wake.clear()
            await self._context.wait_up(SCHEDULER)
            if took > COSTLY_S and seen == self._cache.structure and not self._cache.has_placeable(pool):
                await asyncio.sleep(options.schedule_period_s)
                continue
            seen = self._cache.structure
            started = time.monotonic()
            try:
                await self._cycle(pool)
            except Exception:
                # The edge of the scheduler process, which the real cluster would start again.
                log.exception("the cycle of shard %r failed", pool)
            took = time.monotonic() - started
            await asyncio.sleep(max(options.schedule_period_s, took))

    async def _cycle(self, pool: str) -> None:
        circle = self._cache.queue_cycle()
        if circle:
            log.warning("queues in a circle of parents stop the whole scheduler: %s", ", ".join(circle))
            return
        try:
            snapshot = self._cache.snapshot(pool, self._context.now().timestamp())
        except UnreadableObject as error:
            log.warning("the scheduler's clients cannot decode an object, nothing is scheduled: %s", error)
            return
        result = await asyncio.to_thread(run_cycle, snapshot, self._config(pool))
        self.fair_share[pool] = result.fair_share
        try:
            await self._writer.write(result, pool)
        except (KubeError, OSError) as error:
            log.debug("shard %r: %s", pool, error)
            self._wake_all()

    def _config(self, pool: str) -> SchedulerConfig:
        """A scheduler whose shard nobody can read any more goes on with the arguments that it was started with."""
        try:
            read = shard_config(self._shard(pool), self._context.options.staleness_grace_s())
        except UnreadableObject as error:
            if self._unreadable.get(pool) != str(error):
                log.warning("the settings of shard %r cannot be decoded and stay as they were: %s", pool, error)
                self._unreadable[pool] = str(error)
            return self._configs.get(pool) or shard_config(None, self._context.options.staleness_grace_s())
        self._unreadable.pop(pool, None)
        self._configs[pool] = read
        return read

    def _partitions(self) -> set[str]:
        return {
            value
            for shard in self._context.informers.of(KAI_SCHEDULING_SHARD).values()
            if isinstance(value := spec_of(shard).get("partitionLabelValue"), str) and value
        }

    def _shard(self, pool: str) -> Object | None:
        for shard in self._context.informers.of(KAI_SCHEDULING_SHARD).values():
            if (spec_of(shard).get("partitionLabelValue") or "") == pool:
                return shard
        return None

    def _on_shard(self) -> None:
        self._shards_changed.set()
        self._wake_all()

    def _wake_all(self) -> None:
        for event in self._wake.values():
            event.set()
