"""Columns of the core kinds as `kubectl get` shows them (`pkg/printers/internalversion/printers.go`)."""

from collections.abc import Callable
from typing import Any

from simulator.api.resources import Column
from simulator.api.tables import AGE, human_duration, seconds_between, since
from simulator.client import Object

_NONE = "<none>"
Getter = Callable[[Object], Any]


def _spec(body: Object) -> Object:
    return body.get("spec") or {}


def _status(body: Object) -> Object:
    return body.get("status") or {}


def _of(part: Callable[[Object], Object], name: str, default: Any = "") -> Getter:
    return lambda body: part(body).get(name, default)


def _wide(name: str, value: Getter, kind: str = "string") -> Column:
    return Column(name, value, kind, priority=1)


def _pod_ready(body: Object) -> str:
    statuses = _status(body).get("containerStatuses") or []
    ready = sum(bool(item.get("ready")) for item in statuses)
    return f"{ready}/{len(_spec(body).get('containers') or [])}"


def _pod_status(body: Object) -> str:
    status = _status(body)
    reason = str(status.get("reason") or status.get("phase") or "")
    if _spec(body).get("schedulingGates") and reason == "Pending":
        reason = "SchedulingGated"
    for item in status.get("containerStatuses") or []:
        state = item.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            reason = str(waiting["reason"])
        elif ended:
            reason = str(ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}")
    if "deletionTimestamp" in body["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return reason


def _pod_restarts(body: Object) -> str:
    statuses = _status(body).get("containerStatuses") or []
    restarts = sum(int(item.get("restartCount", 0)) for item in statuses)
    ended = [((item.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for item in statuses]
    times = sorted(stamp for stamp in ended if stamp)
    return f"{restarts} ({since(times[-1])} ago)" if restarts and times else str(restarts)


def _gates(body: Object) -> str:
    gates = _spec(body).get("readinessGates") or []
    if not gates:
        return _NONE
    met = {item["type"] for item in _status(body).get("conditions") or [] if item.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in met for gate in gates)}/{len(gates)}"


def _node_status(body: Object) -> str:
    conditions: list[Object] = _status(body).get("conditions") or []
    ready: Object = next((item for item in conditions if item.get("type") == "Ready"), {})
    words = {"True": "Ready", "False": "NotReady"}
    text = words.get(str(ready.get("status")), "NotReady" if ready else "Unknown")
    return f"{text},SchedulingDisabled" if _spec(body).get("unschedulable") else text


def _node_roles(body: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = body["metadata"].get("labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix)
    return ",".join(roles) or _NONE


def _node_info(name: str) -> Getter:
    return lambda body: (_status(body).get("nodeInfo") or {}).get(name) or "<unknown>"


def _node_address(kind: str) -> Getter:
    def read(body: Object) -> str:
        addresses: list[Object] = _status(body).get("addresses") or []
        return next((str(item["address"]) for item in addresses if item.get("type") == kind), _NONE)

    return read


def _service_ports(body: Object) -> str:
    ports = []
    for port in _spec(body).get("ports") or []:
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    return ",".join(ports) or _NONE


def _service_external(body: Object) -> str:
    ingress = (_status(body).get("loadBalancer") or {}).get("ingress") or []
    addresses = [str(item.get("ip") or item.get("hostname")) for item in ingress]
    if _spec(body).get("type") == "LoadBalancer":
        return ",".join(addresses) or "<pending>"
    return ",".join(_spec(body).get("externalIPs") or []) or _NONE


def _pairs(values: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((values or {}).items())) or _NONE


def _selector(body: Object) -> str:
    selector = _spec(body).get("selector") or {}
    return _pairs(selector.get("matchLabels") if "matchLabels" in selector else selector)


def _template_spec(body: Object) -> Object:
    return (_spec(body).get("template") or {}).get("spec") or {}


def _containers(field: str) -> Getter:
    def read(body: Object) -> str:
        return ",".join(str(item.get(field, "")) for item in _template_spec(body).get("containers") or [])

    return read


def _deployment_ready(body: Object) -> str:
    return f"{_status(body).get('readyReplicas', 0)}/{_spec(body).get('replicas', 1)}"


def _event_seen(body: Object) -> str:
    series = body.get("series") or {}
    stamp = series.get("lastObservedTime") or body.get("lastTimestamp") or body.get("eventTime")
    return since(stamp or body["metadata"].get("creationTimestamp"))


def _event_object(body: Object) -> str:
    involved = body.get("involvedObject") or body.get("regarding") or {}
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name", "")
    return f"{kind}/{name}" if kind else str(name)


def _event_source(body: Object) -> str:
    source = body.get("source") or {}
    component = source.get("component") or body.get("reportingComponent") or ""
    return ", ".join(str(part) for part in (component, source.get("host")) if part)


def _event_first(body: Object) -> str:
    return since(body.get("firstTimestamp") or body.get("eventTime") or body["metadata"].get("creationTimestamp"))


def _event_message(body: Object) -> str:
    return str(body.get("message") or body.get("note") or "").strip()


def _size(body: Object) -> int:
    return len(body.get("data") or {}) + len(body.get("binaryData") or {})


def _slice_ports(body: Object) -> str:
    return ",".join(str(item.get("port", "*")) for item in body.get("ports") or []) or "<unset>"


def _slice_addresses(body: Object) -> str:
    found = [address for item in body.get("endpoints") or [] for address in item.get("addresses") or []]
    shown = ",".join(found[:3])
    return (f"{shown} + {len(found) - 3} more..." if len(found) > 3 else shown) or "<unset>"


def _role(body: Object) -> str:
    reference = body.get("roleRef") or {}
    return f"{reference.get('kind')}/{reference.get('name')}"


def _subjects(kind: str) -> Getter:
    def read(body: Object) -> str:
        found = (item for item in body.get("subjects") or [] if item.get("kind") == kind)
        names = [f"{item['namespace']}/{item['name']}" if item.get("namespace") else item["name"] for item in found]
        return ", ".join(names)

    return read


def _job_status(body: Object) -> str:
    for item in _status(body).get("conditions") or []:
        if item.get("status") == "True" and item.get("type") in ("Complete", "Failed", "Suspended"):
            return str(item["type"])
    return "Suspended" if _spec(body).get("suspend") else "Running"


def _job_completions(body: Object) -> str:
    return f"{_status(body).get('succeeded', 0)}/{_spec(body).get('completions', 1)}"


def _job_duration(body: Object) -> str:
    started = _status(body).get("startTime")
    if not started:
        return ""
    return human_duration(seconds_between(started, _status(body).get("completionTime")))


_REPLICAS = (
    Column("Desired", _of(_spec, "replicas", 0), "integer"),
    Column("Current", _of(_status, "replicas", 0), "integer"),
    Column("Ready", _of(_status, "readyReplicas", 0), "integer"),
    AGE,
)
_BINDING = (
    Column("Role", _role),
    AGE,
    _wide("Users", _subjects("User")),
    _wide("Groups", _subjects("Group")),
    _wide("ServiceAccounts", _subjects("ServiceAccount")),
)
_CREATED = (Column("Created At", lambda body: body["metadata"].get("creationTimestamp", "")),)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": (
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        AGE,
        _wide("IP", lambda body: _status(body).get("podIP") or _NONE),
        _wide("Node", lambda body: _spec(body).get("nodeName") or _NONE),
        _wide("Nominated Node", lambda body: _status(body).get("nominatedNodeName") or _NONE),
        _wide("Readiness Gates", _gates),
    ),
    "nodes": (
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _node_info("kubeletVersion")),
        _wide("Internal-IP", _node_address("InternalIP")),
        _wide("External-IP", _node_address("ExternalIP")),
        _wide("OS-Image", _node_info("osImage")),
        _wide("Kernel-Version", _node_info("kernelVersion")),
        _wide("Container-Runtime", _node_info("containerRuntimeVersion")),
    ),
    "namespaces": (Column("Status", _of(_status, "phase")), AGE),
    "services": (
        Column("Type", _of(_spec, "type")),
        Column("Cluster-IP", lambda body: _spec(body).get("clusterIP") or _NONE),
        Column("External-IP", _service_external),
        Column("Port(s)", _service_ports),
        AGE,
        _wide("Selector", _selector),
    ),
    "events": (
        Column("Last Seen", _event_seen),
        Column("Type", lambda body: body.get("type", "")),
        Column("Reason", lambda body: body.get("reason", "")),
        Column("Object", _event_object),
        _wide("Subobject", lambda body: (body.get("involvedObject") or {}).get("fieldPath", "")),
        _wide("Source", _event_source),
        Column("Message", _event_message),
        _wide("First Seen", _event_first),
        _wide("Count", lambda body: body.get("count", 1), "integer"),
        _wide("Name", lambda body: body["metadata"]["name"]),
    ),
    "secrets": (Column("Type", lambda body: body.get("type", "")), Column("Data", _size), AGE),
    "configmaps": (Column("Data", _size), AGE),
    "serviceaccounts": (Column("Secrets", lambda body: len(body.get("secrets") or []), "integer"), AGE),
    "endpointslices": (
        Column("AddressType", lambda body: body.get("addressType", "")),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_addresses),
        AGE,
    ),
    "leases": (Column("Holder", _of(_spec, "holderIdentity")), AGE),
    "priorityclasses": (
        Column("Value", lambda body: body.get("value", 0), "integer"),
        Column("Global-Default", lambda body: bool(body.get("globalDefault")), "boolean"),
        AGE,
        _wide("PreemptionPolicy", lambda body: body.get("preemptionPolicy", "")),
    ),
    "deployments": (
        Column("Ready", _deployment_ready),
        Column("Up-to-date", _of(_status, "updatedReplicas", 0), "integer"),
        Column("Available", _of(_status, "availableReplicas", 0), "integer"),
        AGE,
        _wide("Containers", _containers("name")),
        _wide("Images", _containers("image")),
        _wide("Selector", _selector),
    ),
    "replicasets": _REPLICAS,
    "daemonsets": (
        Column("Desired", _of(_status, "desiredNumberScheduled", 0), "integer"),
        Column("Current", _of(_status, "currentNumberScheduled", 0), "integer"),
        Column("Ready", _of(_status, "numberReady", 0), "integer"),
        Column("Up-to-date", _of(_status, "updatedNumberScheduled", 0), "integer"),
        Column("Available", _of(_status, "numberAvailable", 0), "integer"),
        Column("Node Selector", lambda body: _pairs(_template_spec(body).get("nodeSelector"))),
        AGE,
    ),
    "statefulsets": (Column("Ready", _deployment_ready), AGE),
    "jobs": (
        Column("Status", _job_status),
        Column("Completions", _job_completions),
        Column("Duration", _job_duration),
        AGE,
    ),
    "customresourcedefinitions": _CREATED,
    "clusterroles": _CREATED,
    "roles": _CREATED,
    "rolebindings": _BINDING,
    "clusterrolebindings": _BINDING,
}
