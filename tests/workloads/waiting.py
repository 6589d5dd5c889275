"""A workload judged by a simulated cluster whose objects end up in the observed rows."""

from typing import Any

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_TOPOLOGY, NAMESPACE, POD
from clusters.models import Cluster
from tests.simulator.actors.conftest import Cluster as Simulated
from tests.simulator.actors.conftest import manifest
from tests.workloads.simulated import HOST, RACK, ZONE, four_nodes, furnish, graph_of, judged, play, queue, submit
from workloads.models import Workload

SPACE = "runai-assistant"
QUEUES: dict[str, dict[str, Any]] = {"research": {}, "assistant": {"parent": "research"}}


def judge(row: Cluster, workload: Workload, **more: Any) -> None:
    """Let a simulated cluster judge the workload; `more` says what stands there (see the fixture `waits`)."""
    nodes = more.pop("nodes", None) or four_nodes()
    queues = more.pop("queues", QUEUES)
    document = graph_of(workload)
    levels = {"levels": [{"nodeLabel": label} for label in (ZONE, RACK, HOST)]}

    async def scenario(cluster: Simulated) -> None:
        await furnish(cluster, nodes, [queue(name, **spec) for name, spec in queues.items()], SPACE)
        if more.get("topology", True):
            await cluster.client.create(KAI_TOPOLOGY, manifest(KAI_TOPOLOGY, "topology-1", levels))
        if more.get("others"):
            await cluster.client.create(NAMESPACE, manifest(NAMESPACE, "elsewhere"))
        for pod in more.get("others", ()):
            await cluster.client.create(POD, pod, "elsewhere")
        await submit(cluster, document)
        if more.get("refused"):
            await cluster.wait_for(lambda: refused(cluster), "the operator's refusal")
        else:
            await judged(cluster, SPACE, more.get("pods", 2))

    play(row, scenario)


async def refused(cluster: Simulated) -> bool:
    (found,) = await cluster.objects(DYNAMO_GRAPH_DEPLOYMENT, SPACE)
    return "not found" in str(found.get("status"))
