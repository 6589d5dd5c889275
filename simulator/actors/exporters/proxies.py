"""Puts exporters and metrics endpoints behind the API's proxy path, for as long as their pods run.

`hooks.proxies` maps ("pods" | "services", namespace, name, port) to a callable. Nothing is computed until asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from typing import Any

from clusters.kinds import KAI_QUEUE, KAI_SCHEDULING_SHARD, NODE, POD
from clusters.operators.objects import (
    find_condition,
    has_condition,
    is_deleting,
    key_of,
    labels_of,
    parse_timestamp,
    spec_of,
    status_of,
)
from scheduling.structs import Resources
from simulator.actors.context import Context
from simulator.actors.exporters import kai_metrics
from simulator.actors.exporters.dcgm import Gpu, assign, exposition, idle_gpu
from simulator.actors.exporters.dynamo_metrics import frontend_metrics, model_of, worker_metrics
from simulator.actors.exporters.load import load_of
from simulator.actors.kubelet.nodes import GPU
from simulator.actors.kubelet.pods import BY_NODE
from simulator.actors.quantities import devices
from simulator.client import Object

Answer = tuple[int, str, bytes]
Proxy = Callable[[str, str, str, bytes], Awaitable[Answer]]
ProxyKey = tuple[str, str, str, int]

TEXT = "text/plain; version=0.0.4; charset=utf-8"
EXPORTER_LABEL = "app"
EXPORTER = "nvidia-dcgm-exporter"
EXPORTER_PORT = 9400
DEFAULT_MEMORY_MIB = 81559
FRONTEND_PORT, SYSTEM_PORT = 8000, 9090
COMPONENT_TYPE = "nvidia.com/dynamo-component-type"
GRAPH = "nvidia.com/dynamo-graph-deployment-name"
SELECTOR = "nvidia.com/selector"
BY_GRAPH, BY_SERVICE = "graph", "service"
OK, NOT_FOUND, UNAVAILABLE = 200, 404, 503


class Exporters:
    """Follows pods and registers what they serve; removes it when they go."""

    def __init__(
        self, context: Context, proxies: MutableMapping[Any, Any], shares: Mapping[str, Mapping[str, Resources]]
    ) -> None:
        """`shares`: fair share per shard and queue, kept current by the scheduler."""
        self._context = context
        self._proxies = proxies
        self._shares = shares
        self._queues = context.informers.of(KAI_QUEUE)
        context.informers.of(KAI_SCHEDULING_SHARD).subscribe(self._on_shard)
        self._serve_shard("")
        self._pods = context.informers.of(POD)
        self._devices: dict[str, dict[int, str]] = {}
        self._nodes = context.informers.of(NODE)
        self._pods.add_index(BY_NODE, lambda pod: [spec_of(pod).get("nodeName") or ""])
        self._pods.add_index(BY_GRAPH, _graph_of)
        self._pods.add_index(BY_SERVICE, _service_of)
        self._pods.subscribe(self._on_pod)

    def _serve_shard(self, pool: str) -> None:
        key = ("services", kai_metrics.NAMESPACE, kai_metrics.service_name(pool), kai_metrics.PORT)
        self._proxies[key] = partial(self._kai, pool)

    def _on_shard(self, old: Object | None, new: Object | None) -> None:
        pool = _pool_of(new) if new is not None else ""
        if pool:
            self._serve_shard(pool)
        elif new is None and old is not None:
            name = kai_metrics.service_name(_pool_of(old))
            self._proxies.pop(("services", kai_metrics.NAMESPACE, name, kai_metrics.PORT), None)

    async def _kai(self, pool: str, method: str, path: str, query: str, body: bytes) -> Answer:
        del method, query, body
        if path.strip("/") != "metrics":
            return NOT_FOUND, TEXT, b"404 page not found\n"
        if self._context.is_down("kai-scheduler"):
            return UNAVAILABLE, TEXT, b"no endpoints available\n"
        text = kai_metrics.fair_share_metrics(self._shares.get(pool, {}), self._queues.values())
        return OK, TEXT, text.encode()

    async def run(self) -> None:
        """Everything happens in callbacks; this only keeps the task alive."""
        await asyncio.Event().wait()

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                for key, _ in self._endpoints(old):
                    if key[0] == "pods" or not self._pods.by_index(BY_SERVICE, f"{key[1]}/{key[2]}"):
                        self._proxies.pop(key, None)
            return
        if old is None:
            for key, proxy in self._endpoints(new):
                self._proxies[key] = proxy

    def _endpoints(self, pod: Object) -> list[tuple[ProxyKey, Proxy]]:
        namespace, name = key_of(pod)
        if labels_of(pod).get(EXPORTER_LABEL) == EXPORTER:
            return [(("pods", namespace, name, EXPORTER_PORT), partial(self._dcgm, (namespace, name)))]
        kind = labels_of(pod).get(COMPONENT_TYPE)
        if not kind:
            return []
        port = FRONTEND_PORT if kind == "frontend" else SYSTEM_PORT
        service = labels_of(pod).get(SELECTOR, name)
        return [
            (("pods", namespace, name, port), partial(self._dynamo, (namespace, name))),
            (("services", namespace, service, port), partial(self._dynamo_service, f"{namespace}/{service}")),
        ]

    async def _dcgm(self, key: tuple[str, str], method: str, path: str, query: str, body: bytes) -> Answer:
        del method, query, body
        pod = self._pods.get(key)
        node = self._nodes.get(("", spec_of(pod).get("nodeName", ""))) if pod else None
        if path.strip("/") != "metrics":
            return NOT_FOUND, TEXT, b"404 page not found\n"
        if node is None or self._is_down(node["metadata"]["name"]):
            return UNAVAILABLE, TEXT, b"no endpoints available\n"
        return OK, TEXT, self.node_metrics(node).encode()

    def node_metrics(self, node: Object) -> str:
        """dcgm-exporter's text of one node now."""
        name = node["metadata"]["name"]
        capacity = devices((status_of(node).get("capacity") or {}).get(GPU, 0))
        healthy = devices((status_of(node).get("allocatable") or {}).get(GPU, 0))
        labelled = labels_of(node).get("nvidia.com/gpu.memory", "")
        memory = (
            int(labelled) if labelled.isascii() and labelled.isdigit() and len(labelled) < 10 else DEFAULT_MEMORY_MIB
        )
        now = self._context.now().timestamp()
        running = [pod for pod in self._pods.by_index(BY_NODE, name) if _occupies(pod)]
        assigned = assign(running, healthy, self._devices.get(name, {}))
        self._devices[name] = {number: pod["metadata"]["uid"] for number, pod in assigned.items()}
        position: dict[str, int] = {}
        gpus = []
        for index in range(capacity):
            pod = assigned.get(index)
            if pod is None or not has_condition(pod, "Ready"):
                idle = idle_gpu(index, unhealthy=index >= healthy)
                gpus.append(idle if pod is None else idle._replace(pod=pod))
                continue
            uid = pod["metadata"]["uid"]
            position[uid] = position.get(uid, -1) + 1
            load = load_of(
                pod,
                position[uid],
                now,
                seed=self._context.options.seed,
                memory_mib=memory,
                ready_for_s=now - _ready_since(pod, now),
            )
            gpus.append(Gpu(index, load, pod))
        return exposition(node, gpus, memory)

    async def _dynamo(self, key: tuple[str, str], method: str, path: str, query: str, body: bytes) -> Answer:
        del query, body, method
        pod = self._pods.get(key)
        if pod is None or not has_condition(pod, "Ready"):
            return UNAVAILABLE, TEXT, b"not ready\n"
        what = path.strip("/")
        if what in ("live", "health"):
            return OK, "application/json", b'{"status":"ready"}'
        if what != "metrics":
            return NOT_FOUND, TEXT, b"404 page not found\n"
        return OK, TEXT, self._dynamo_metrics(pod).encode()

    async def _dynamo_service(self, service: str, method: str, path: str, query: str, body: bytes) -> Answer:
        """Any ready pod behind the service answers."""
        ready = [pod for pod in self._pods.by_index(BY_SERVICE, service) if has_condition(pod, "Ready")]
        if not ready:
            return UNAVAILABLE, TEXT, b"no endpoints available for service\n"
        return await self._dynamo(key_of(min(ready, key=key_of)), method, path, query, body)

    def _dynamo_metrics(self, pod: Object) -> str:
        now, seed = self._context.now().timestamp(), self._context.options.seed
        since = _ready_since(pod, now)
        if labels_of(pod).get(COMPONENT_TYPE) != "frontend":
            return worker_metrics(pod, model_of(pod), now, since, seed=seed)
        workers = [w for graph in _graph_of(pod) for w in self._pods.by_index(BY_GRAPH, graph) if w is not pod]
        ready = [worker for worker in workers if model_of(worker) and has_condition(worker, "Ready")]
        model = next((model_of(worker) for worker in workers if model_of(worker)), "unknown_model")
        return frontend_metrics(pod, model, now, since, seed=seed, ready=bool(ready))

    def _is_down(self, node: str) -> bool:
        faults = self._context.faults
        for name in ("exporter-down", "node-lost"):
            fault = faults.active(name)
            if fault is not None and fault.parameters.get("node", node) == node:
                return True
        return False


def _occupies(pod: Object) -> bool:
    """A bound pod holds its devices until it is gone."""
    return status_of(pod).get("phase") in ("Pending", "Running") or is_deleting(pod)


def _ready_since(pod: Object, now: float) -> float:
    moment = (find_condition(pod, "Ready") or {}).get("lastTransitionTime")
    return parse_timestamp(moment).timestamp() if moment else now


def _pool_of(shard: Object) -> str:
    value = spec_of(shard).get("partitionLabelValue")
    return value if isinstance(value, str) else ""


def _service_of(pod: Object) -> list[str]:
    name = labels_of(pod).get(SELECTOR)
    return [f"{pod['metadata']['namespace']}/{name}"] if name else []


def _graph_of(pod: Object) -> list[str]:
    name = labels_of(pod).get(GRAPH)
    return [f"{pod['metadata']['namespace']}/{name}"] if name else []
