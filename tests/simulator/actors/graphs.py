"""Graphs and pods that the scenarios submit."""

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
GPU = "nvidia.com/gpu"
RACK = "topology.kubernetes.io/rack"
ZONE = "topology.kubernetes.io/zone"


def worker(role: str, gpus: int, replicas: int, **more: object) -> dict:
    """A prefill or decode component of a v1beta1 graph."""
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", "Qwen/Qwen3-32B", "--disaggregation-mode", role],
        "resources": {"limits": {GPU: str(gpus)}},
    }
    template = {"spec": {"containers": [container]}}
    return {"name": role, "type": role, "replicas": replicas, "podTemplate": template, **more}


def frontend() -> dict:
    template = {"spec": {"containers": [{"name": "main", "image": IMAGE}]}}
    return {"name": "Frontend", "type": "frontend", "replicas": 1, "podTemplate": template}


def bare_graph(*components: dict, name: str = "qwen", **spec: object) -> dict:
    """A graph of just these components, in namespace and queue `team`."""
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": name,
            "namespace": "team",
            "annotations": {"nvidia.com/kai-scheduler-queue": "team"},
        },
        "spec": {"backendFramework": "vllm", "components": list(components), **spec},
    }


def graph(*components: dict, **spec: object) -> dict:
    """The same with a frontend in front."""
    return bare_graph(frontend(), *components, **spec)


def packed(**pack: str) -> dict:
    """Grove's own constraint, handed through by providerOverride (the only way that works on both paths)."""
    constraint = {"topologyName": "fabric", "pack": pack}
    value = {"spec": {"template": {"topologyConstraint": constraint}}}
    override = {"apiVersion": "grove.io/v1alpha1", "target": "PodCliqueSet", "value": value}
    return {"providerOverride": override}


def pod(name: str, gpus: int = 1, queue: str = "team", *, image: str = IMAGE, **labels: str) -> dict:
    """A pod without owner for KAI's scheduler."""
    container = {"name": "main", "image": image, "resources": {"limits": {GPU: str(gpus)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "labels": {"kai.scheduler/queue": queue, **labels}},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }
