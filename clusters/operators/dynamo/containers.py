"""The container `main` of a component: ports, probes and environment that the operator adds. Pure."""

from clusters.operators.dynamo.graph import Component, Graph
from clusters.operators.objects import Object

FRONTEND_PORT = 8000
SYSTEM_PORT = 9090
NIXL_PORT = 19090


def main_container(graph: Graph, component: Component, role: str, *, worker_hash: str) -> Object:
    """Values the user gave win; environment is operator's, then the graph's, then the component's."""
    given = component.main
    defaults = _frontend(given) if component.type == "frontend" else _worker(component)
    named = [*_common_environment(graph, component), *_own_environment(graph, component, worker_hash)]
    by_name = {entry["name"]: entry for entry in [*named, *graph.env, *(given.get("env") or ())]}
    container = {**defaults, **given, "env": list(by_name.values())}
    resources = dict(container.get("resources") or {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    container["resources"] = resources
    if component.node_count > 1:
        return _multinode(container, component, role)
    return container


def _frontend(given: Object) -> Object:
    command = {} if given.get("command") or given.get("args") else {"args": ["-m", "dynamo.frontend"]}
    return {
        "command": ["python3"],
        **command,
        "ports": [{"name": "http", "containerPort": FRONTEND_PORT, "protocol": "TCP"}],
        "livenessProbe": _probe("/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1),
        "readinessProbe": _probe("/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3),
    }


def _worker(component: Component) -> Object:
    if not component.is_worker:
        return {"ports": [{"name": "metrics", "containerPort": 9085, "protocol": "TCP"}]}
    return {
        "ports": [
            {"name": "system", "containerPort": SYSTEM_PORT, "protocol": "TCP"},
            {"name": "nixl", "containerPort": NIXL_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=1),
        "readinessProbe": _probe("/health", "system", periodSeconds=10, timeoutSeconds=4),
        "startupProbe": _probe("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720),
    }


def _probe(path: str, port: str, **numbers: int) -> Object:
    return {"httpGet": {"path": path, "port": port}, "failureThreshold": 3, **numbers}


def _common_environment(graph: Graph, component: Component) -> list[Object]:
    return [
        {"name": "DYN_COMPONENT", "value": component.name},
        {"name": "DYN_DISCOVERY_BACKEND", "value": "kubernetes"},
        {"name": "DYN_NAMESPACE", "value": f"{graph.namespace}-{graph.name}"},
        {"name": "DYN_PARENT_DGD_K8S_NAME", "value": graph.name},
        {"name": "DYN_PARENT_DGD_K8S_NAMESPACE", "value": graph.namespace},
        _from_field("POD_NAME", "metadata.name"),
        _from_field("POD_NAMESPACE", "metadata.namespace"),
        _from_field("POD_UID", "metadata.uid"),
    ]


def _own_environment(graph: Graph, component: Component, worker_hash: str) -> list[Object]:
    if component.type == "frontend":
        return [
            {"name": "DYNAMO_PORT", "value": str(FRONTEND_PORT)},
            {"name": "DYN_HTTP_PORT", "value": str(FRONTEND_PORT)},
            {"name": "DYN_NAMESPACE_PREFIX", "value": f"{graph.namespace}-{graph.name}"},
        ]
    if not component.is_worker:
        return []
    return [
        {"name": "DYN_FORWARDPASS_METRIC_PORT", "value": "20380"},
        {"name": "DYN_HEALTH_CHECK_ENABLED", "value": "false"},
        {"name": "DYN_NAMESPACE_WORKER_SUFFIX", "value": worker_hash},
        {"name": "DYN_SYSTEM_ENABLED", "value": "true"},
        {"name": "DYN_SYSTEM_PORT", "value": str(SYSTEM_PORT)},
        {"name": "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "value": '["generate"]'},
        {"name": "NIXL_TELEMETRY_ENABLE", "value": "n"},
        {"name": "NIXL_TELEMETRY_EXPORTER", "value": "prometheus"},
        {"name": "NIXL_TELEMETRY_PROMETHEUS_PORT", "value": str(NIXL_PORT)},
        _from_field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP"),
    ]


def _from_field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _multinode(container: Object, component: Component, role: str) -> Object:
    """Multinode components are started by a shell with the engine's distributed flags."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    rank = "0" if role.endswith("-ldr") else "$((GROVE_PCLQ_POD_INDEX + 1))"
    flags = f"--nnodes {component.node_count} --node-rank {rank}"
    return {**container, "command": ["/bin/sh", "-c"], "args": [f"{' '.join(map(str, words))} {flags}"]}
