"""Prometheus text of Dynamo's frontend and workers: names and labels of the real ones (dynamo.md §6.2). Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence

from clusters.operators.objects import labels_of, spec_of
from simulator.actors.exporters.load import profile_of, unit
from simulator.client import Object

TTFT_BUCKETS = (0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1.0, 2.2, 4.7, 10.0, 22.0, 48.0, 100.0, 480.0)
ITL_BUCKETS = (0.001, 0.0022, 0.0047, 0.01, 0.022, 0.047, 0.1, 0.22, 0.47, 1.0, 2.0)
DURATION_BUCKETS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
REQUESTS_PER_S = 3.0


def frontend_metrics(pod: Object, model: str, now: float, since: float, *, seed: int, ready: bool) -> str:
    """`since`: when the pod began to serve; counters grow from there. Without workers `model_ready` disappears."""
    served = _requests(pod, now, since, seed) if ready else 0
    labels = {"model": model.lower()}
    lines: list[str] = []
    if ready:
        lines += _metric("dynamo_frontend_model_ready", "gauge", [(labels, 1)])
    wave = 0.5 + 0.5 * math.sin(now / 90.0 + unit(pod["metadata"]["name"]))
    inflight = round(4 + 8 * wave) if ready else 0
    lines += _metric("dynamo_frontend_inflight_requests", "gauge", [(labels, inflight)])
    lines += _metric("dynamo_frontend_queued_requests", "gauge", [(labels, round(2 * wave * ready))])
    request = {**labels, "endpoint": "chat_completions", "request_type": "stream"}
    outcomes = [
        ({**request, "status": "success", "error_type": ""}, served - served // 200),
        ({**request, "status": "error", "error_type": "overload"}, served // 200),
    ]
    lines += _metric("dynamo_frontend_requests_total", "counter", outcomes)
    lines += _metric("dynamo_frontend_output_tokens_total", "counter", [(labels, served * 240)])
    slow = 1.0 + 0.5 * wave
    lines += _histogram("dynamo_frontend_time_to_first_token_seconds", labels, TTFT_BUCKETS, served, 0.21 * slow)
    lines += _histogram("dynamo_frontend_inter_token_latency_seconds", labels, ITL_BUCKETS, served * 239, 0.011 * slow)
    lines += _histogram("dynamo_frontend_request_duration_seconds", labels, DURATION_BUCKETS, served, 2.9 * slow)
    component = {"dynamo_namespace": _namespace(pod), "dynamo_component": "router", "router_id": "0"}
    hits = 0.42 + 0.1 * wave
    lines += _histogram("dynamo_component_router_kv_hit_rate", component, (0.1, 0.2, 0.4, 0.6, 0.8, 1.0), served, hits)
    return "\n".join(lines) + "\n"


def worker_metrics(pod: Object, model: str, now: float, since: float, *, seed: int) -> str:
    """A prefill worker emits no engine series, as the mocker (dynamo.md §6.2)."""
    worker = f"{int(unit(pod['metadata']['uid']) * 2**63):016x}"
    role = labels_of(pod).get("nvidia.com/dynamo-sub-component-type", "")
    labels = {
        "dynamo_component": "prefill" if role == "prefill" else "backend",
        "dynamo_endpoint": "generate",
        "dynamo_namespace": _namespace(pod),
        "worker_id": worker,
    }
    served = _requests(pod, now, since, seed) // 2
    wave = 0.5 + 0.5 * math.sin(now / profile_of(pod).period + unit(worker))
    lines = _metric("dynamo_component_requests_total", "counter", [(labels, served)])
    lines += _metric("dynamo_component_inflight_requests", "gauge", [(labels, round(2 + 6 * wave))])
    lines += _histogram("dynamo_component_request_duration_seconds", labels, DURATION_BUCKETS, served, 2.4)
    lines += _metric("dynamo_component_uptime_seconds", "gauge", [({"worker_id": worker}, round(now - since, 3))])
    if role != "prefill":
        engine = {"engine": "0", "model_name": model}
        cache = round(0.35 + 0.45 * wave, 4)
        lines += _metric("vllm:num_requests_running", "gauge", [(engine, round(2 + 6 * wave))])
        lines += _metric("vllm:num_requests_waiting", "gauge", [(engine, round(1.4 * wave))])
        lines += _metric("vllm:kv_cache_usage_perc", "gauge", [(engine, cache)])
        lines += _metric("vllm:gpu_cache_usage_perc", "gauge", [(engine, cache)])
    return "\n".join(lines) + "\n"


def model_of(pod: Object) -> str:
    """The model a worker's command names, "" when it names none."""
    for container in spec_of(pod).get("containers") or ():
        words = [str(word) for word in (container.get("command") or []) + (container.get("args") or [])]
        for flag in ("--served-model-name", "--model-name", "--model", "--model-path"):
            if flag in words[:-1]:
                return words[words.index(flag) + 1]
    return ""


def _requests(pod: Object, now: float, since: float, seed: int) -> int:
    rate = REQUESTS_PER_S * (0.5 + unit(f"{seed}/{pod['metadata']['name']}"))
    return max(int((now - since) * rate), 0)


def _namespace(pod: Object) -> str:
    """The runtime turns dashes of its namespace into underscores (dynamo.md §1 no. 12)."""
    return labels_of(pod).get("nvidia.com/dynamo-namespace", "").replace("-", "_")


def _metric(name: str, kind: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> list[str]:
    return [f"# TYPE {name} {kind}", *(f"{name}{{{_text(labels)}}} {value}" for labels, value in samples)]


def _histogram(name: str, labels: Mapping[str, str], buckets: Sequence[float], count: int, mean: float) -> list[str]:
    """A log-normal distribution around the mean, cumulative as Prometheus has it."""
    lines = [f"# TYPE {name} histogram"]
    centre, width = math.log(max(mean, 1e-9)) - 0.125, 0.5
    for bound in buckets:
        share = 0.5 * (1 + math.erf((math.log(bound) - centre) / (width * math.sqrt(2))))
        lines.append(f'{name}_bucket{{{_text(labels)},le="{bound:g}"}} {int(count * share)}')
    lines.append(f'{name}_bucket{{{_text(labels)},le="+Inf"}} {count}')
    lines.append(f"{name}_sum{{{_text(labels)}}} {round(count * mean, 6)}")
    lines.append(f"{name}_count{{{_text(labels)}}} {count}")
    return lines


def _text(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{value}"' for key, value in labels.items())
