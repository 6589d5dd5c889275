"""What actors may hand to the API server beside objects: pod logs, proxied ports, and the faults they share."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.faults import Faults


class ProxyAnswer(NamedTuple):
    """What a proxied port answers."""

    status: int
    content_type: str
    body: bytes


# (method, path below the proxy, query string, body) -> answer
Proxy = Callable[[str, str, str, bytes], Awaitable[ProxyAnswer | tuple[int, str, bytes]]]
LogKey = tuple[str, str, str]  # namespace, pod, container
ProxyKey = tuple[str, str, str, int]  # "pods" | "services", namespace, name, port


class PodLogs:
    """Log text per container, in lines; the oldest lines are dropped beyond `limit`."""

    def __init__(self, limit: int = 2000) -> None:
        self._limit = limit
        self._lines: dict[LogKey, list[str]] = {}
        self._written: dict[LogKey, int] = {}
        self._waiters: set[asyncio.Event] = set()

    def append(self, namespace: str, pod: str, container: str, line: str) -> None:
        key = (namespace, pod, container)
        lines = self._lines.setdefault(key, [])
        lines.append(line)
        self._written[key] = self._written.get(key, 0) + 1
        if len(lines) > self._limit:
            del lines[: len(lines) - self._limit]
        for waiter in self._waiters:
            waiter.set()

    def clear(self, namespace: str, pod: str) -> None:
        """Forget a pod's logs."""
        for key in [key for key in self._lines if key[:2] == (namespace, pod)]:
            del self._lines[key]
            self._written.pop(key, None)
        for waiter in self._waiters:
            waiter.set()

    def lines(self, key: LogKey, after: int = 0) -> tuple[list[str], int]:
        """Lines written after the `after`-th, and the number of lines written so far."""
        lines = self._lines.get(key, [])
        written = self._written.get(key, 0)
        fresh = min(len(lines), max(0, written - after))
        return lines[len(lines) - fresh :], written

    def subscribe(self) -> asyncio.Event:
        """An event that is set on every new line; give it back to `unsubscribe`."""
        event = asyncio.Event()
        self._waiters.add(event)
        return event

    def unsubscribe(self, event: asyncio.Event) -> None:
        self._waiters.discard(event)


@dataclass
class ServerHooks:
    """`logs` and `proxies` are filled by actors that share the process; a proxy that is not there answers 503."""

    faults: Faults
    logs: PodLogs = field(default_factory=PodLogs)
    proxies: MutableMapping[ProxyKey, Proxy] = field(default_factory=dict)
