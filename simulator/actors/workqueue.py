"""A level-triggered queue of keys: a key waits at most once, is never worked on twice at a time, and backs off."""

import asyncio
from collections import deque
from typing import Generic, TypeVar

K = TypeVar("K")

FIRST_BACKOFF_S = 0.05
LAST_BACKOFF_S = 10.0


class WorkQueue(Generic[K]):
    """As client-go's rate-limiting queue: `add` while a key is being worked on makes it come again after `done`."""

    def __init__(self) -> None:
        self._waiting: deque[K] = deque()
        self._dirty: set[K] = set()
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._working:
            self._waiting.append(key)
            self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Later `add`; an earlier one of two wins."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._fire, key)

    def retry(self, key: K) -> None:
        """Adds the key after a delay that doubles with each failure until `forget`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(FIRST_BACKOFF_S * 2.0**failures, LAST_BACKOFF_S))

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    async def get(self) -> K:
        while not self._waiting:
            self._wake.clear()
            await self._wake.wait()
        key = self._waiting.popleft()
        self._dirty.discard(key)
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        self._working.discard(key)
        if key in self._dirty:
            self._waiting.append(key)
            self._wake.set()

    def close(self) -> None:
        """Cancels the timers; the queue is not used afterwards."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _fire(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)
