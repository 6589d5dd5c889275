"""`pods/log`: the text that the kubelet actor handed over, followed on request."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from simulator.api.errors import bad_request
from simulator.api.hooks import LogKey
from simulator.api.options import is_true, number
from simulator.api.reading import get_entry
from simulator.api.requests import Target
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


def answer(server: "Server", target: Target, query: Mapping[str, str]) -> Response:
    """Lines of one container; raises 400 in kube's words for no or an unknown container, or one not yet started."""
    pod = get_entry(server, target).object
    container = _container(pod, target.name, query.get("container", ""))
    key = (target.namespace or "", target.name, container)
    lines, written = server.hooks.logs.lines(key)
    if not lines and not _has_started(pod, container):
        raise bad_request(
            f'container "{container}" in pod "{target.name}" is waiting to start: {_waiting(pod, container)}'
        )
    if query.get("tailLines"):
        tail = number(query, "tailLines")
        lines = lines[-tail:] if tail else []
    text = "".join(f"{line}\n" for line in lines)
    if query.get("limitBytes"):
        text = text.encode()[: number(query, "limitBytes")].decode(errors="ignore")
    if is_true(query, "follow"):
        return StreamingResponse(_follow(server, key, target, text, written), media_type="text/plain")
    return PlainTextResponse(text)


async def _follow(server: "Server", key: LogKey, target: Target, text: str, written: int) -> AsyncIterator[bytes]:
    pods = server.store.collection(target.resource.storage)
    waker = server.hooks.logs.subscribe()
    pods.wakers.add(waker)
    try:
        yield text.encode()  # also when empty: it sends the headers
        while not server.closing:
            lines, written = server.hooks.logs.lines(key, written)
            if lines:
                yield "".join(f"{line}\n" for line in lines).encode()
            if target.key not in pods.entries:
                return
            waker.clear()
            await waker.wait()
    finally:
        server.hooks.logs.unsubscribe(waker)
        pods.wakers.discard(waker)


def _container(pod: Object, name: str, wanted: str) -> str:
    containers = pod.get("spec", {}).get("containers") or []
    known = [item["name"] for item in containers]
    if wanted:
        if wanted not in known:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(known) > 1:
        text = " ".join(known)
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{text}]")
    return str(known[0]) if known else ""


def _statuses(pod: Object, container: str) -> Object:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return next((item for item in statuses if item.get("name") == container), {})


def _has_started(pod: Object, container: str) -> bool:
    state = _statuses(pod, container).get("state") or {}
    return "running" in state or "terminated" in state or (pod.get("status") or {}).get("phase") == "Running"


def _waiting(pod: Object, container: str) -> str:
    waiting = (_statuses(pod, container).get("state") or {}).get("waiting") or {}
    return str(waiting.get("reason") or "ContainerCreating")
