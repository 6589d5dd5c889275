"""Log lines of containers, as vLLM and Dynamo print them. Pure: the caller brings the time."""

from collections.abc import Iterator
from itertools import pairwise

from clusters.operators.objects import labels_of, spec_of
from simulator.client import Object

COMPONENT_TYPE = "nvidia.com/dynamo-component-type"


def start_lines(pod: Object, moment: str) -> Iterator[tuple[str, str]]:
    """(container, line) pairs that a pod prints while it starts; `moment` is RFC 3339."""
    for container in spec_of(pod).get("containers") or ():
        if container["name"] != "main":
            yield container["name"], f"{moment} INFO started {container.get('image', '')}"
            continue
        make = _frontend if labels_of(pod).get(COMPONENT_TYPE) == "frontend" else _worker
        for line in make(pod, container, moment):
            yield "main", line


def ready_line(pod: Object, moment: str) -> str:
    """What the main container prints when it begins to serve."""
    if labels_of(pod).get(COMPONENT_TYPE) == "frontend":
        return f"{moment}  INFO dynamo_llm::http::service: Starting HTTP(S) service address=0.0.0.0:8000"
    return f"{moment}  INFO dynamo_runtime::pipeline: endpoint generate registered, ready for requests"


def busy_line(pod: Object, moment: str, level: float) -> str:
    """What a serving main container prints from time to time; `level` is how busy it is, 0…1."""
    if labels_of(pod).get(COMPONENT_TYPE) == "frontend":
        requests = round(12 * level)
        return f"{moment}  INFO dynamo_llm::http::service: {requests} requests in flight, model ready"
    speed = 2400 * level
    return (
        f"INFO {moment} [loggers.py:127] Engine 000: Avg prompt throughput: {speed * 3:.1f} tokens/s, "
        f"Avg generation throughput: {speed:.1f} tokens/s, Running: {round(24 * level)} reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {90 * level:.1f}%, Prefix cache hit rate: 41.7%"
    )


def _frontend(pod: Object, container: Object, moment: str) -> Iterator[str]:
    del pod, container
    yield f"{moment}  INFO dynamo_runtime: Initializing distributed runtime, discovery=kubernetes"
    yield f"{moment}  INFO dynamo_llm::discovery::watcher: watching for models"


def _worker(pod: Object, container: Object, moment: str) -> Iterator[str]:
    words = [str(word) for word in (container.get("command") or []) + (container.get("args") or [])]
    model = next((b for a, b in pairwise(words) if a in ("--model", "--model-path")), "")
    role = labels_of(pod).get("nvidia.com/dynamo-sub-component-type", "aggregated")
    yield f"INFO {moment} [__init__.py:241] Automatically detected platform cuda."
    yield f"INFO {moment} [config.py:1472] Using max model len 40960"
    yield f"INFO {moment} [core.py:58] Initializing a V1 LLM engine with config: model={model!r}, role={role}"
    yield f"INFO {moment} [weight_utils.py:292] Using model weights format ['*.safetensors']"
    yield f"INFO {moment} [gpu_worker.py:276] Available KV cache memory: 49.31 GiB"
    yield f"INFO {moment} [core.py:159] init engine (profile, create kv cache, warmup model) took 12.41 seconds"
