"""Graph → PodCliqueSet and Services, as the operator's own test data shows (dynamo-rendering.md). Pure."""

from typing import Any

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, GROVE_POD_CLIQUE_SET, SERVICE, SERVICE_ACCOUNT
from clusters.operators.dynamo.containers import main_container
from clusters.operators.dynamo.graph import Component, Graph
from clusters.operators.objects import Object, fingerprint, owner_reference, without_empty

OPERATOR_VERSION = "1.5.0"
KAI_SCHEDULER = "kai-scheduler"
QUEUE_LABEL = "kai.scheduler/queue"
DEFAULT_QUEUE = "dynamo"
TERMINATION_DELAY = "4h0m0s"
NAME_BUDGET = 45


def queue_of(graph: Graph) -> str:
    """The queue that the operator injects: the DGD's annotation, else `dynamo` (dynamo.md §3.2)."""
    return graph.queue_annotation or DEFAULT_QUEUE


def runtime_namespace(graph: Graph) -> str:
    return f"{graph.namespace}-{graph.name}"


def object_name(component: Component) -> str:
    """Component names become parts of object names in lower case."""
    return component.name.lower()


def resource_names(graph: Graph, component: Component) -> list[str]:
    """Names of the Grove objects whose status counts for the component."""
    return [f"{graph.name}-0-{object_name(component)}"]


def pod_clique_set(dgd: Object, graph: Graph, *, kai: bool) -> Object:
    """The PodCliqueSet named like the graph. `kai`: queue label and scheduler name are injected."""
    cliques: list[Object] = []
    groups: list[Object] = []
    for component in graph.components:
        cliques.extend(_cliques(graph, component, kai=kai))
        if component.node_count > 1:
            groups.append(_scaling_group(graph, component))
    template: Object = {
        "cliqueStartupType": "CliqueStartupTypeAnyOrder",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "terminationDelay": TERMINATION_DELAY,
        "cliques": cliques,
        **without_empty(
            {
                "podCliqueScalingGroups": groups,
                "priorityClassName": graph.priority_class,
                "topologyConstraint": _root_constraint(graph),
            }
        ),
    }
    metadata = {
        "name": graph.name,
        "namespace": graph.namespace,
        "ownerReferences": [owner_reference(dgd, DYNAMO_GRAPH_DEPLOYMENT)],
        **without_empty({"annotations": dict(graph.annotations), "labels": dict(graph.labels)}),
    }
    return {
        "apiVersion": GROVE_POD_CLIQUE_SET.api_version,
        "kind": GROVE_POD_CLIQUE_SET.kind,
        "metadata": metadata,
        "spec": {"replicas": 1, "template": template},
    }


def services(dgd: Object, graph: Graph) -> list[Object]:
    """One Service per component: `<dgd>-<component>`, the frontend's on port 8000."""
    found = []
    for component in graph.components:
        name = f"{graph.name}-{object_name(component)}"
        port = {"name": "system", "port": 9090, "targetPort": "system", "protocol": "TCP"}
        if component.type == "frontend":
            port = {"name": "http", "port": 8000, "targetPort": "http", "protocol": "TCP"}
        found.append(
            {
                "apiVersion": SERVICE.api_version,
                "kind": SERVICE.kind,
                "metadata": {
                    "name": name,
                    "namespace": graph.namespace,
                    "labels": _labels(graph, component),
                    "ownerReferences": [owner_reference(dgd, DYNAMO_GRAPH_DEPLOYMENT)],
                },
                "spec": {"selector": {"nvidia.com/selector": name}, "ports": [port]},
            }
        )
    return found


def service_account(dgd: Object, graph: Graph) -> Object:
    return {
        "apiVersion": SERVICE_ACCOUNT.api_version,
        "kind": SERVICE_ACCOUNT.kind,
        "metadata": {
            "name": f"{graph.name}-k8s-service-discovery",
            "namespace": graph.namespace,
            "ownerReferences": [owner_reference(dgd, DYNAMO_GRAPH_DEPLOYMENT)],
        },
    }


def _cliques(graph: Graph, component: Component, *, kai: bool) -> list[Object]:
    name = object_name(component)
    if component.node_count == 1:
        constraint = _component_constraint(graph, component)
        clique = _clique(graph, component, name, component.replicas, kai=kai)
        clique["spec"]["minAvailable"] = component.min_available
        return [{**clique, **without_empty({"topologyConstraint": constraint})}]
    leader = _clique(graph, component, f"{name}-ldr", 1, kai=kai)
    workers = _clique(graph, component, f"{name}-wkr", component.node_count - 1, kai=kai)
    for container in workers["spec"]["podSpec"]["containers"]:
        if container["name"] == "main":
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                container.pop(probe, None)
    return [leader, workers]


def _clique(graph: Graph, component: Component, name: str, replicas: int, *, kai: bool) -> Object:
    pod_spec = _pod_spec(graph, component, name)
    labels = {**graph.labels, **_labels(graph, component)}
    scheduler = pod_spec.get("schedulerName", "")
    if kai and scheduler in ("", KAI_SCHEDULER):
        pod_spec["schedulerName"] = KAI_SCHEDULER
        labels[QUEUE_LABEL] = queue_of(graph)
    template = component.template.get("metadata") or {}
    annotations = {
        **graph.annotations,
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-operator-origin-version": OPERATOR_VERSION,
        **(template.get("annotations") or {}),
    }
    return {
        "name": name,
        "labels": {**labels, **(template.get("labels") or {})},
        "annotations": annotations,
        "spec": {
            "roleName": name,
            "replicas": replicas,
            "minAvailable": replicas or 1,
            "podSpec": pod_spec,
        },
    }


def _pod_spec(graph: Graph, component: Component, role: str) -> Object:
    given: dict[str, Any] = dict(component.template.get("spec") or {})
    main = main_container(graph, component, role, worker_hash=_worker_hash(component))
    others = [dict(c) for c in given.get("containers") or () if c.get("name") != "main"]
    volumes = list(given.get("volumes") or ())
    if component.shared_memory != "0":
        main["volumeMounts"] = [
            *(main.get("volumeMounts") or ()),
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 (a mount inside the pod)
        ]
        memory = {"medium": "Memory", "sizeLimit": component.shared_memory}
        volumes.append({"name": "shared-memory", "emptyDir": memory})
    defaults = {
        "restartPolicy": "Always",
        "securityContext": {"fsGroup": 1000},
        "serviceAccountName": f"{graph.name}-k8s-service-discovery",
        "terminationGracePeriodSeconds": 60,
    }
    return {**defaults, **given, "containers": [main, *others], **without_empty({"volumes": volumes})}


def _labels(graph: Graph, component: Component) -> dict[str, str]:
    labels = {
        "nvidia.com/dynamo-component": component.name,
        "nvidia.com/dynamo-component-type": component.type,
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/dynamo-graph-deployment-name": graph.name,
        "nvidia.com/dynamo-namespace": runtime_namespace(graph),
        "nvidia.com/metrics-enabled": "true",
        "nvidia.com/selector": f"{graph.name}-{object_name(component)}",
    }
    if component.is_worker:
        labels["nvidia.com/dynamo-worker-hash"] = _worker_hash(component)
        if component.sub_type:
            labels["nvidia.com/dynamo-sub-component-type"] = component.sub_type
    return labels


def _worker_hash(component: Component) -> str:
    """8 hex digits that change with the worker's spec, not with its replicas."""
    return fingerprint([component.type, component.template, component.node_count], 8)


def _scaling_group(graph: Graph, component: Component) -> Object:
    name = object_name(component)
    constraint = _component_constraint(graph, component)
    group: Object = {
        "name": name,
        "cliqueNames": [f"{name}-ldr", f"{name}-wkr"],
        "replicas": component.replicas,
        "minAvailable": component.min_available,
    }
    return {**group, **without_empty({"topologyConstraint": constraint})}


def _root_constraint(graph: Graph) -> Object:
    """The typed constraint becomes `pack.required`; a providerOverride is taken as it is (dynamo.md §3.4)."""
    value = graph.override.get("value") or {}
    if graph.override.get("target") == "PodCliqueSet":
        template = (value.get("spec") or {}).get("template") or {}
        if template.get("topologyConstraint"):
            return dict(template["topologyConstraint"])
    if graph.topology and graph.pack_domain:
        return {"topologyName": graph.topology, "pack": {"required": graph.pack_domain}}
    return {}


def _component_constraint(graph: Graph, component: Component) -> Object:
    value = component.override.get("value") or {}
    if value.get("topologyConstraint"):
        return dict(value["topologyConstraint"])
    if component.pack_domain:
        return {"topologyName": graph.topology, "pack": {"required": component.pack_domain}}
    return {}
