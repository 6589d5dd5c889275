"""One round over a cluster's dcgm-exporters through the API's proxy path: bounded in number, time and size."""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from clusters.kinds import POD, Kind
from clusters.names import is_rfc1123_label, is_rfc1123_subdomain
from core.errors import MusterError
from metrics.exposition import GpuReading, NotExposition, merge_readings, read_exposition

EXPORTER_SELECTORS = ("app=nvidia-dcgm-exporter", "app.kubernetes.io/name=dcgm-exporter")
DEFAULT_PORT = 9400
# At once: a few, more of them where there are many to ask, as many as a gateway keeps connections.
CONCURRENCY = 8
MOST_AT_ONCE = 20
TARGETS_PER_THREAD = 250
TIMEOUT = 4.0
# Well below the limit of a task (90 s), with the list of exporters before it and the frame after it.
ROUND_SECONDS = 60.0
MAX_TEXT = 4 * 1024 * 1024


class Source(Protocol):
    """The two calls of a gateway that a round needs."""

    def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str = "") -> Sequence[dict[str, Any]]:
        """See `Gateway.list`."""
        ...

    def read_text(self, path: str, *, timeout: float = 5.0) -> str:
        """See `Gateway.read_text`."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """An exporter pod and the node that it reports on."""

    namespace: str
    name: str
    node: str
    port: int = DEFAULT_PORT

    @property
    def path(self) -> str:
        """Its metrics through the API server."""
        return f"{POD.path(self.namespace)}/{self.name}:{self.port}/proxy/metrics"

    def as_dict(self) -> dict[str, Any]:
        """As rows hold it."""
        return asdict(self)


@dataclass(slots=True)
class Round:
    """What one round found: readings per node, why nodes that were asked have none, and whose turn did not come."""

    readings: dict[str, tuple[GpuReading, ...]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)


def find_targets(source: Source) -> tuple[Target, ...]:
    """The exporter pods that run, by node. Raises the gateway's errors: a failed list is not "no exporter"."""
    found: dict[tuple[str, str], Target] = {}
    for selector in EXPORTER_SELECTORS:
        for pod in source.list(POD, label_selector=selector):
            target = _target(pod)
            if target is not None:
                found[(target.namespace, target.name)] = target
    return tuple(sorted(found.values(), key=lambda target: (target.node, target.name)))


def _target(pod: dict[str, Any]) -> Target | None:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    namespace, name, node = metadata.get("namespace", ""), metadata["name"], spec.get("nodeName") or ""
    running = (pod.get("status") or {}).get("phase", "Running") == "Running"
    if not (node and running and is_rfc1123_label(namespace) and is_rfc1123_subdomain(name)):
        return None
    ports = (port for container in spec.get("containers") or () for port in container.get("ports") or ())
    port = next((port.get("containerPort") for port in ports if port.get("name") in ("metrics", None)), None)
    return Target(namespace, name, node, port if isinstance(port, int) else DEFAULT_PORT)


def read_round(source: Source, targets: Iterable[Target], *, seconds: float = ROUND_SECONDS) -> Round:
    """Ask every target once, in their order, a few at a time, for `seconds` at most: what was read by then is kept,
    and those whose turn did not come wait. A target that fails costs its node only."""
    deadline = time.monotonic() + seconds
    result = Round()
    found: dict[str, list[GpuReading]] = {}
    targets = list(targets)
    at_once = min(MOST_AT_ONCE, max(CONCURRENCY, len(targets) // TARGETS_PER_THREAD))
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        for target, answer in zip(
            targets, pool.map(lambda target: _read(source, target, deadline), targets), strict=True
        ):
            if answer is None:
                result.waiting.add(target.node)
            elif isinstance(answer, str):
                result.failures[target.node] = answer
            else:
                found.setdefault(target.node, []).extend(answer)
    result.readings = {node: merge_readings(gpus) for node, gpus in found.items()}
    result.failures = {node: why for node, why in result.failures.items() if node not in found}
    result.waiting -= result.readings.keys() | result.failures.keys()
    return result


def _read(source: Source, target: Target, deadline: float) -> tuple[GpuReading, ...] | str | None:
    """The readings of one target, or why there are none; None: the round was over before its turn came."""
    if time.monotonic() > deadline:
        return None
    try:
        text = source.read_text(target.path, timeout=TIMEOUT)
        if len(text) > MAX_TEXT:
            return f"the answer has {len(text)} characters, more than {MAX_TEXT}"
        return read_exposition(text)
    except NotExposition as error:
        return str(error)
    except MusterError as error:
        return error.message[:300]
