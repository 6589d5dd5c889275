"""Main containers that end by themselves: Dynamo exits on flags that it does not know (dynamo.md §5). Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from clusters.operators.objects import spec_of, status_of
from simulator.client import Object

EVERYWHERE = frozenset(
    {
        "--max-concurrent-requests",
        "--prefill-batch-size",
        "--routing-strategy",
        "--router-fallback",
        "--kv-cache-offload-ratio",
        "--sla-target",
    }
)
"""Flags of blog posts that no Dynamo process has."""
BY_MODULE = {"dynamo.vllm": EVERYWHERE | {"--tp-size", "--context-length"}}
USAGE_ERROR = 2
FIRST_BACKOFF_S, LAST_BACKOFF_S = 10.0, 300.0


class Exit(NamedTuple):
    """How a container ends, and the last line it prints."""

    code: int
    line: str


def exit_of(pod: Object) -> Exit | None:
    """None for a container that goes on running."""
    for container in spec_of(pod).get("containers") or ():
        if container["name"] == "main":
            words = [str(w) for part in ("command", "args") for w in container.get(part) or ()]
            return _usage_error(words)
    return None


def crashed_status(pod: Object, now: str, ended: Exit) -> Object:
    """`containerStatuses` of a pod whose main container ended once more and waits to be started again."""
    statuses = []
    for status in status_of(pod).get("containerStatuses") or ():
        if status["name"] != "main":
            statuses.append(status)
            continue
        restarts = status.get("restartCount", 0) + 1
        text = (
            f"back-off {back_off(restarts):.0f}s restarting failed container=main "
            f"pod={pod['metadata']['name']}_{pod['metadata']['namespace']}({pod['metadata']['uid']})"
        )
        terminated = {"exitCode": ended.code, "reason": "Error", "startedAt": now, "finishedAt": now}
        statuses.append(
            {
                **status,
                "ready": False,
                "started": False,
                "restartCount": restarts,
                "lastState": {"terminated": {**terminated, "message": ended.line}},
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}},
            }
        )
    return {"containerStatuses": statuses}


def back_off(restarts: int) -> float:
    """Seconds until the kubelet starts the container again: 10, 20, 40 … 300."""
    return float(min(FIRST_BACKOFF_S * 2.0 ** (max(restarts, 1) - 1), LAST_BACKOFF_S))


def restarts_of(pod: Object) -> int:
    return max((s.get("restartCount", 0) for s in status_of(pod).get("containerStatuses") or ()), default=0)


def _usage_error(words: Sequence[str]) -> Exit | None:
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if not module.startswith("dynamo."):
        return None
    unknown = BY_MODULE.get(module, EVERYWHERE)
    flags = [word for word in words if word.partition("=")[0] in unknown]
    if not flags:
        return None
    return Exit(USAGE_ERROR, f"{module}: error: unrecognized arguments: {' '.join(flags)}")
