"""Why a workload waits, told of a simulated cluster: one fixture per cause, combinations, people and pages."""

from typing import Any

import pytest

from clusters.kinds import KAI_TOPOLOGY
from clusters.models import Cluster, Node
from tests.simulator.actors.conftest import Cluster as Simulated
from tests.simulator.actors.conftest import manifest
from tests.workloads.simulated import (
    HOST,
    RACK,
    ZONE,
    four_nodes,
    furnish,
    graph_of,
    judged,
    observe,
    play,
    queue,
    submit,
)
from workloads.diagnosis_telling import told_to
from workloads.models import Workload

SPACE = "runai-assistant"
GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: qwen
  annotations: {topology}
spec:
  backendFramework: vllm
  components:
    - name: decode
      type: decode
      replicas: {replicas}
      minAvailable: {replicas}
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B]
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
QUEUES = {"research": {}, "assistant": {"parent": "research"}}


def graph(replicas: int = 2, gpus: int = 8, required: str = "") -> str:
    topology = "{}"
    if required:
        topology = f'{{kai.scheduler/topology: topology-1, kai.scheduler/topology-required-placement: "{required}"}}'
    return GRAPH.format(replicas=replicas, gpus=gpus, topology=topology)


@pytest.fixture
def waits(submit: Any, cluster: Cluster) -> Any:
    """`waits(source, nodes=…, queues=…, pods=…)`: the workload after the simulated cluster judged it."""
    Node.objects.all().delete()
    make = submit

    def waits(source: str, **more: Any) -> Workload:
        workload: Workload = make(source)
        _play(cluster, workload, **more)
        return observe(workload)

    return waits


def _play(row: Cluster, workload: Workload, **more: Any) -> None:
    nodes = more.pop("nodes", None) or four_nodes()
    queues = more.pop("queues", QUEUES)
    document = graph_of(workload)
    levels = {"levels": [{"nodeLabel": label} for label in (ZONE, RACK, HOST)]}

    async def scenario(cluster: Simulated) -> None:
        await furnish(cluster, nodes, [queue(name, **spec) for name, spec in queues.items()], SPACE)
        if more.get("topology", True):
            await cluster.client.create(KAI_TOPOLOGY, manifest(KAI_TOPOLOGY, "topology-1", levels))
        await submit(cluster, document)
        await judged(cluster, SPACE, more.get("pods", 2))

    play(row, scenario)


def codes(told: dict[str, Any]) -> list[str]:
    return [cause["code"] for cause in told["causes"]]


def test_a_rack_too_small_is_told_with_its_numbers_and_ways_out(waits: Any, admin: Any) -> None:
    told = told_to(admin, waits(graph(replicas=3, required=RACK), pods=3))
    assert codes(told) == ["LevelTooSmall"]
    assert told["verdict"] == (
        "It asks for 24 GPUs inside one rack. The largest rack of the pool, r0, has 16, so it can never start as"
        " written, however many GPUs become free."
    )
    texts = [step["text"] for remedy in told["remedies"] for step in remedy["steps"]]
    assert "Prefer one rack instead of requiring it" in texts
    assert "2 pods instead of 3 in role decode (8 GPUs each)" in texts
