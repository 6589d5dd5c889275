"""What both tests of the main job share: manifests as people bring them, and what kubectl says of them."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def pods_of(muster: Muster, graph: str) -> list[dict[str, Any]]:
    """The pods of a graph, as kubectl has them."""
    return muster.objects("pods", "-n", NAMESPACE, "-l", f"nvidia.com/dynamo-graph-deployment-name={graph}")


def is_ready(pod: dict[str, Any]) -> bool:
    """1/1 Running."""
    conditions = {c["type"]: c["status"] for c in (pod.get("status") or {}).get("conditions") or ()}
    return bool(pod["status"].get("phase") == "Running" and conditions.get("Ready") == "True")


def domains_of(muster: Muster, pods: list[dict[str, Any]], level: str) -> set[str]:
    """The values of a level's label on the nodes of the pods."""
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in muster.objects("nodes")}
    return {labels[pod["spec"]["nodeName"]][level] for pod in pods if pod["spec"].get("nodeName")}


def is_gone(muster: Muster, *arguments: str) -> Callable[[], bool]:
    """A condition: kubectl finds nothing."""
    return lambda: muster.objects(*arguments) == []


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


def await_ready(muster: Muster, graph: str, count: int) -> list[dict[str, Any]]:
    """The pods of the graph, once all of them are ready."""

    def ready() -> list[dict[str, Any]]:
        pods = pods_of(muster, graph)
        return pods if len(pods) == count and all(map(is_ready, pods)) else []

    return wait_until(ready, f"{count} pods of {graph} to be 1/1 Running")
