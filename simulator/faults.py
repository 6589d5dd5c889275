"""One switchboard of faults for both halves of the simulated cluster: the API server and the actors read it by name."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Every fault that can be switched on, with its parameters. `seconds` (any fault) ends it by itself, `times` (those
# of single requests) after so many requests; `kind`, `method` and `namespace` narrow it to some requests.
KNOWN: dict[str, str] = {
    "api-slow": "every request waits `delay` seconds (default 1) first",
    "api-down": "every request is refused: connections are closed without an answer",
    "connection-dropped": "requests and running watches end in the middle, without an answer",
    "gone": "410 as HTTP status on lists and watches",
    "watch-gone": "running and new watches end with a 410 ERROR event",
    "continue-expired": "410 on every continue token",
    "conflict": "409 on writes",
    "too-many-requests": "429 with `Retry-After` of `retry_after` seconds (default 1)",
    "internal-error": "500 on every request",
    "watch-frozen": "watches stay open and deliver nothing; all comes when it ends",
    "watch-lossy": "watches silently leave out the events that happen while it is on",
    "version-not-served": "`group`/`version` (of a CRD) is not served",
    "webhook-down": "validating webhooks of `group` do not answer (default: all)",
    "conversion-down": "conversion webhooks of `group` do not answer (default: all)",
    "namespace-stuck": "`namespace` (default: all) stays Terminating",
    "node-lost": "the kubelet of `node` falls silent",
    "label-removed": "`node` loses its label `label`",
    "gpu-unhealthy": "`count` GPUs of `node` are unhealthy",
    "operator-down": "the actor called `name` does nothing",
    "exporter-down": "the exporters of `node` (default: all) do not answer",
    "image-not-pullable": "images that contain `image` cannot be pulled",
}


AMOUNTS = frozenset({"delay", "retry_after", "count"})
MOST = 1_000_000


@dataclass(slots=True)
class Fault:
    """A fault that is on; `ends_at` is in the clock's seconds, `left` counts down the requests it still hits."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ends_at: float | None = None
    left: int | None = None


class Faults:
    """Which faults are on. Several may be on at once, each once; switching one on again replaces it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._active: dict[str, Fault] = {}
        self._waiters: set[asyncio.Event] = set()
        self._listeners: list[Callable[[], None]] = []

    def switch_on(self, name: str, parameters: Mapping[str, Any] | None = None) -> Fault:
        """Raises ValueError for an unknown name, a `seconds` or `times` that is no positive number, and other amounts
        that are none."""
        if name not in KNOWN:
            raise ValueError(f"unknown fault {name!r}; known are: {', '.join(sorted(KNOWN))}")
        given = dict(parameters or {})
        seconds = _positive(given, "seconds")
        times = _positive(given, "times")
        for amount in AMOUNTS & given.keys():
            _check_amount(amount, given[amount])
        fault = Fault(name, given, None if seconds is None else self._clock() + seconds)
        fault.left = None if times is None else int(times)
        self._active[name] = fault
        self._tell()
        return fault

    def switch_off(self, name: str) -> bool:
        """False when it was not on."""
        found = self._active.pop(name, None) is not None
        self._tell()
        return found

    def clear(self) -> None:
        self._active.clear()
        self._tell()

    def active(self, name: str, **wanted: str) -> Fault | None:
        """The fault if it is on and concerns what is asked: a parameter that it leaves out concerns everything."""
        fault = self._active.get(name)
        if fault is None:
            return None
        if fault.ends_at is not None and self._clock() >= fault.ends_at:
            self.switch_off(name)
            return None
        if any(str(fault.parameters.get(key, value)) != value for key, value in wanted.items()):
            return None
        return fault

    def strike(self, name: str, **wanted: str) -> Fault | None:
        """Like `active`, and counts one request against `times`."""
        fault = self.active(name, **wanted)
        if fault is not None and fault.left is not None:
            fault.left -= 1
            if fault.left <= 0:
                self.switch_off(name)
        return fault

    def all(self) -> list[Fault]:
        return [fault for name in list(self._active) if (fault := self.active(name)) is not None]

    def on_change(self, listener: Callable[[], None]) -> None:
        """Called after every switch."""
        self._listeners.append(listener)

    async def thawed(self, name: str) -> None:
        """Returns as soon as the fault is off."""
        while (fault := self.active(name)) is not None:
            event = asyncio.Event()
            self._waiters.add(event)
            try:
                left = None if fault.ends_at is None else max(0.0, fault.ends_at - self._clock())
                async with asyncio.timeout(left):
                    await event.wait()
            except TimeoutError:
                continue
            finally:
                self._waiters.discard(event)

    def _tell(self) -> None:
        for event in self._waiters:
            event.set()
        for listener in self._listeners:
            listener()


def _positive(parameters: dict[str, Any], name: str) -> float | None:
    value = parameters.pop(name, None)
    if value is None:
        return None
    if not _is_amount(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number of at most {MOST}, not {value!r}")
    return float(value)


def _check_amount(name: str, value: Any) -> None:
    """Amounts are read in the middle of requests and loops, where nobody hears of a wrong one."""
    if not _is_amount(value):
        raise ValueError(f"{name} must be a number of 0 to {MOST}, not {value!r}")


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST
