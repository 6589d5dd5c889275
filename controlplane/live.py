"""Live pages: one subscription to the broker per process, fanned out to every open page.

What waits for a slow page is a set of its own topics, so it can't grow. Pages are never told what else changed.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

from core.live import CHANNEL

log = structlog.get_logger(__name__)

RECONNECT_SECONDS = 2.0
POLL = "event: poll\ndata: {}\n\n"
ALIVE = ": alive\n\n"


@dataclass(eq=False)
class Page:
    """One open page: the topics it shows and what it has not been told yet."""

    topics: frozenset[str]
    user_topic: str
    pending: dict[str, None] = field(default_factory=dict)  # an ordered set
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    rights_changed: bool = False
    lost_broker: bool = False

    def tell(self, changed: Iterable[str]) -> None:
        """Queue those of its topics that `changed` touches."""
        for topic in changed:
            self.rights_changed |= topic == self.user_topic
            for own in self.topics:
                if topic == own or topic.startswith((f"{own}.", f"{own}@")):
                    self.pending[own] = None
        if self.pending or self.rights_changed:
            self.woken.set()

    async def wait(self, seconds: float) -> None:
        """Until there is something to tell, or `seconds` have passed."""
        try:
            await asyncio.wait_for(self.woken.wait(), seconds)
        except TimeoutError:
            return
        self.woken.clear()

    def take(self) -> str:
        """The message with all that is pending; empty when nothing is."""
        if not self.pending:
            return ""
        message = f"data: {json.dumps(list(self.pending))}\n\n"
        self.pending.clear()
        return message


class Hub:
    """The process's subscription and the pages that listen to it; belongs to one event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pages: set[Page] = set()
        self._reader: asyncio.Task[None] | None = None
        self.connected = False

    def __len__(self) -> int:
        return len(self._pages)

    async def join(self, page: Page) -> None:
        """Start telling `page`; the first page opens the subscription and waits briefly for it."""
        self._pages.add(page)
        if self._reader is None or self._reader.done():
            # The reference is kept: a task that nobody holds may be collected while it waits.
            self._reader = asyncio.create_task(self._read_for_ever())
        for _ in range(20):
            if self.connected:
                return
            await asyncio.sleep(0.05)
        page.lost_broker = True

    def leave(self, page: Page) -> None:
        """Stop telling `page`; the last one closes the subscription."""
        self._pages.discard(page)
        if not self._pages and self._reader is not None:
            self._reader.cancel()
            self._reader = None
            self.connected = False

    async def _read_for_ever(self) -> None:
        while True:
            try:
                await self._read()
            except (RedisError, OSError, TimeoutError) as error:
                log.info("live topics lost", error=str(error))
            self.connected = False
            self._break_off()
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _read(self) -> None:
        connection = Redis.from_url(self._url, socket_connect_timeout=1.0, health_check_interval=10)
        async with connection as redis, redis.pubsub() as subscription:
            await subscription.subscribe(CHANNEL)
            if any(page.lost_broker for page in self._pages):
                self._break_off()
            self.connected = True
            while True:
                # The timeout lets the health check run: a dead connection is noticed within seconds.
                message = await subscription.get_message(ignore_subscribe_messages=True, timeout=5.0)
                if message is not None:
                    self._tell(message["data"])

    def _tell(self, data: Any) -> None:
        try:
            changed = json.loads(data)
        except ValueError:
            return
        for page in self._pages:
            page.tell(changed)

    def _break_off(self) -> None:
        """End every stream: the pages open it anew, learn whether there is a broker, and refresh themselves."""
        for page in self._pages:
            page.lost_broker = True
            page.woken.set()


_hubs: dict[asyncio.AbstractEventLoop, Hub] = {}


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(settings.REDIS_URL)
    return _hubs[loop]


async def stream(page: Page, check: Any, every: float = 15.0) -> AsyncIterator[str]:
    """The event stream of one page. `check()` answers the state to show, or None when the viewer may not any more.

    It is asked at the start, every `every` seconds, and as soon as the viewer's rights change.
    """
    ours = hub()
    await ours.join(page)
    try:
        if page.lost_broker:
            yield POLL
        shown = None
        while (state := await check()) is not None:
            page.rights_changed = False
            yield ALIVE if state == shown else f"event: state\ndata: {json.dumps(state)}\n\n"
            shown = state
            async for message in _until_check(page, ours, every):
                yield message
            if page.lost_broker and ours.connected:
                return
    finally:
        ours.leave(page)


async def _until_check(page: Page, ours: Hub, every: float) -> AsyncIterator[str]:
    """Messages until `every` seconds have passed, the rights changed, or the broker came or went."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + every
    told_lost = page.lost_broker
    while (left := deadline - loop.time()) > 0 and not page.rights_changed:
        await page.wait(left)
        if message := page.take():
            yield message
        if page.lost_broker and not told_lost:
            yield POLL
            return
        if page.lost_broker and ours.connected:
            return
