"""What both tests of the main job share: manifests as people bring them, and what kubectl says of them."""

import base64
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.stack.installation import Muster, wait_until
from tests.workloads import samples

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname"
NAMESPACE = "runai-project-a"
REQUIRED = "kai.scheduler/topology-required-placement"
PREFERRED = "kai.scheduler/topology-preferred-placement"

# The guides' disaggregated graph (journey J5 a), to be kept in one rack.
DISAGG = (
    samples.DISAGG.replace(PREFERRED, REQUIRED)
    .replace('"topology.kubernetes.io/zone"', f'"{RACK}"')
    .replace("replicas: 2  # as many as prefill", "replicas: 1")
)


def gang(name: str, annotation: str) -> str:
    """32 GPUs that must start together: 4 prefill and 4 decode workers of 4 GPUs; a rack of the fleet has 24."""
    workers = "".join(
        f"""\
    - name: {role}
      type: {role}
      replicas: 4
      minAvailable: 4
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-32B, --tensor-parallel-size, "4", --disaggregation-mode, {role}]
              resources: {{limits: {{nvidia.com/gpu: "4"}}}}
"""
        for role in ("prefill", "decode")
    )
    return f"""\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: {name}
spec:
  backendFramework: vllm
  annotations:
    {annotation}: {RACK}
  components:
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0
{workers}"""


def put_token(muster: Muster) -> None:
    """The secret that `DISAGG` reads: without it the kubelet starts none of its workers."""
    wait_until(lambda: NAMESPACE in [n["metadata"]["name"] for n in muster.objects("namespaces")], "the namespace")
    muster.kubectl("create", "secret", "generic", "hf-token-secret", "-n", NAMESPACE, "--from-literal=HF_TOKEN=hf_x")


def encoded(text: str) -> str:
    """As the API takes YAML."""
    return base64.b64encode(text.encode()).decode()


def pods_of(muster: Muster, graph: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """The pods of a graph, as kubectl has them."""
    return muster.objects("pods", "-n", namespace, "-l", f"nvidia.com/dynamo-graph-deployment-name={graph}")


def await_pods(muster: Muster, graph: str, count: int) -> list[dict[str, Any]]:
    """The pods of a graph once all are made, scheduled or not."""

    def made() -> list[dict[str, Any]]:
        pods = pods_of(muster, graph)
        return pods if len(pods) == count else []

    return wait_until(made, f"{count} pods of {graph} to be made")


def is_ready(pod: dict[str, Any]) -> bool:
    """1/1 Running."""
    conditions = {c["type"]: c["status"] for c in (pod.get("status") or {}).get("conditions") or ()}
    return bool(pod["status"].get("phase") == "Running" and conditions.get("Ready") == "True")


def domains_of(muster: Muster, pods: list[dict[str, Any]], level: str) -> set[str]:
    """The values of a level's label on the nodes of the pods."""
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in muster.objects("nodes")}
    return {labels[pod["spec"]["nodeName"]][level] for pod in pods if pod["spec"].get("nodeName")}


def lower_the_quota(muster: Muster) -> None:
    """Somebody changes the project's queue with kubectl."""
    patch = '{"spec": {"resources": {"gpu": {"quota": 1}}}}'
    muster.kubectl("patch", "queues.scheduling.run.ai", "project-a", "--type", "merge", "-p", patch)


def quota_of(muster: Muster) -> int:
    """What the project's queue deserves, as kubectl has it."""
    [queue] = muster.objects("queues.scheduling.run.ai", "project-a")
    return int(queue["spec"]["resources"]["gpu"]["quota"])


@contextmanager
def unlabelled_node(muster: Muster) -> Iterator[str]:
    """A node whose rack label somebody removed with kubectl; it is put back in the end."""
    node = muster.objects("nodes")[-1]["metadata"]
    muster.kubectl("label", "node", node["name"], f"{RACK}-")
    yield node["name"]
    muster.kubectl("label", "node", node["name"], f"{RACK}={node['labels'][RACK]}")


def devices_of(muster: Muster, pods: list[dict[str, Any]]) -> dict[str, set[int]]:
    """The GPUs by node that the exporters attribute to these pods: as many as they ask for."""
    asked: Counter[str] = Counter()
    for pod in pods:
        asked[pod["spec"]["nodeName"]] += sum(_gpus(container) for container in pod["spec"]["containers"])
    names = {pod["metadata"]["name"] for pod in pods}
    exporters = muster.objects("pods", "-n", "gpu-operator", "-l", "app=nvidia-dcgm-exporter")
    by_node = {pod["spec"]["nodeName"]: pod["metadata"]["name"] for pod in exporters}
    found = {node: _attributed(muster, by_node[node], names) for node, count in asked.items() if count}
    assert {node: len(gpus) for node, gpus in found.items()} == {node: n for node, n in asked.items() if n}
    return found


def _gpus(container: dict[str, Any]) -> int:
    return int(((container.get("resources") or {}).get("limits") or {}).get("nvidia.com/gpu", 0))


def _attributed(muster: Muster, exporter: str, pods: set[str]) -> set[int]:
    text = muster.kubectl("get", "--raw", f"/api/v1/namespaces/gpu-operator/pods/{exporter}:9400/proxy/metrics")
    lines = [line for line in text.splitlines() if line.startswith("DCGM_FI_DEV_GPU_UTIL{")]
    labels = [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in lines]
    return {int(each["gpu"]) for each in labels if each.get("exported_pod") in pods}


def utilisation_of(muster: Muster, uid: str) -> dict[int, float]:
    """The newest figure that Muster has of each GPU of the node with this uid, in percent; {} where nobody measures."""
    now = datetime.now(UTC)
    start, end = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (now - timedelta(hours=1), now + timedelta(minutes=1)))
    query = f"metricType=GPU_UTILIZATION_PER_GPU&start={start}&end={end}"
    answer = muster.request("GET", f"/api/v1/nodes/{uid}/metrics?{query}")
    assert answer.status in (200, 207), answer.body
    found = {int(m["labels"]["gpu"]): m["values"] for m in answer.body.get("measurements", ())}
    return {gpu: float(values[-1]["value"]) for gpu, values in found.items() if values}


def await_ready(muster: Muster, graph: str, count: int, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """The pods of the graph, once all of them are ready."""

    def ready() -> list[dict[str, Any]]:
        pods = pods_of(muster, graph, namespace)
        return pods if len(pods) == count and all(map(is_ready, pods)) else []

    return wait_until(ready, f"{count} pods of {graph} to be 1/1 Running")
