"""Kubernetes Events in the background: equal ones are counted up, as client-go's recorder does."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clusters.kinds import EVENT, Kind
from clusters.operators.objects import fingerprint
from core.moments import rfc3339
from simulator.client import KubeClient, KubeError, Object

log = logging.getLogger(__name__)

REMEMBERED = 4096
WAITING = 5000
REWRITE_AFTER_S = 10.0


@dataclass
class _Written:
    name: str
    first: str
    count: int = 1
    written_at: float = 0.0


@dataclass(frozen=True)
class _Pending:
    """One occurrence; equal signatures are the same Event."""

    kind: Kind
    metadata: Object
    reason: str
    message: str
    event_type: str
    component: str
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        return fingerprint([self.metadata.get("uid", ""), self.reason, self.message, self.component], 16)


class EventRecorder:
    """`record` never waits; `run` writes. What does not fit into the buffer is dropped, as in client-go."""

    def __init__(self, client: KubeClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._pending: asyncio.Queue[_Pending] = asyncio.Queue(WAITING)
        self._written: OrderedDict[str, _Written] = OrderedDict()

    def record(
        self,
        about: tuple[Kind, Object],
        reason: str,
        message: str,
        *,
        component: str,
        event_type: str = "Normal",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Notes an event on the object `about` = (kind, object)."""
        kind, obj = about
        pending = _Pending(kind, obj["metadata"], reason, message[:1024], event_type, component, annotations or {})
        try:
            self._pending.put_nowait(pending)
        except asyncio.QueueFull:
            log.warning("event dropped: %s %s", reason, obj["metadata"].get("name"))

    async def run(self) -> None:
        while True:
            pending = await self._pending.get()
            try:
                await self._write(pending)
            except (KubeError, OSError) as error:
                log.debug("event not written: %s", error)
            await asyncio.sleep(0)

    async def _write(self, event: _Pending) -> None:
        loop_time = asyncio.get_running_loop().time()
        known = self._written.get(event.signature)
        now = rfc3339(self._now())
        if known is None:
            known = _Written(f"{event.metadata['name']}.{event.signature}", now, written_at=loop_time)
            self._written[event.signature] = known
            if len(self._written) > REMEMBERED:
                self._written.popitem(last=False)
            await self._create(event, known)
            return
        known.count += 1
        if loop_time - known.written_at < REWRITE_AFTER_S:
            return
        known.written_at = loop_time
        body = {"count": known.count, "lastTimestamp": now}
        try:
            await self._client.patch(EVENT, known.name, self._namespace(event), body)
        except KubeError as error:
            if error.code != 404:
                raise
            del self._written[event.signature]

    async def _create(self, event: _Pending, known: _Written) -> None:
        namespace = self._namespace(event)
        body: Object = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": known.name, "namespace": namespace, "annotations": dict(event.annotations)},
            "involvedObject": {
                "apiVersion": event.kind.api_version,
                "kind": event.kind.kind,
                "name": event.metadata["name"],
                "namespace": event.metadata.get("namespace", ""),
                "uid": event.metadata.get("uid", ""),
                "resourceVersion": event.metadata.get("resourceVersion", ""),
            },
            "reason": event.reason,
            "message": event.message,
            "type": event.event_type,
            "source": {"component": event.component},
            "reportingComponent": event.component,
            "reportingInstance": "",
            "firstTimestamp": known.first,
            "lastTimestamp": known.first,
            "count": known.count,
        }
        try:
            await self._client.create(EVENT, body, namespace)
        except KubeError as error:
            if error.code != 409:
                raise

    @staticmethod
    def _namespace(event: _Pending) -> str:
        return str(event.metadata.get("namespace") or "default")
