"""`small` and `empty`: 2 zones × 3 racks × 3 nodes × 8 GPUs, with or without oddities and foreign objects. Pure."""

from collections.abc import Iterator

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_QUEUE, KAI_TOPOLOGY, NAMESPACE, NODE
from simulator.actors.exporters.load import LOAD
from simulator.client import Object
from simulator.fleets.hardware import HOSTNAME, RACK, TEAM_POOL, ZONE, Machine, node_manifest
from simulator.fleets.platform import Entry, exporter_pods, platform, queue

ZONES = ("zone-a", "zone-b")
RACKS = 3
NODES = 3
TRAINING_RACK = "rack-b3"
SANDBOX = "sandbox"


def machines(*, odd: bool) -> list[Machine]:
    """18 nodes. Odd ones: one lacks its rack label, one is cordoned, one has an unhealthy GPU."""
    found = []
    for zone in ZONES:
        letter = zone[-1]
        for rack in range(1, RACKS + 1):
            for number in range(1, NODES + 1):
                name, rack_name = f"gpu-{letter}{rack}-{number}", f"rack-{letter}{rack}"
                labels = {TEAM_POOL: "training"} if rack_name == TRAINING_RACK else {}
                found.append(
                    Machine(
                        name=name,
                        zone=zone,
                        rack="" if odd and name == "gpu-b2-3" else rack_name,
                        cordoned=odd and name == "gpu-b1-3",
                        unhealthy=1 if odd and name == "gpu-a3-2" else 0,
                        labels=labels,
                    )
                )
    return found


UNMEASURED = "gpu-b2-2"
"""This node of `small` has no dcgm-exporter."""


def empty() -> Iterator[Entry]:
    """Healthy, fully labelled nodes and the platform; nobody has made anything yet."""
    yield from platform()
    nodes = machines(odd=False)
    yield from ((NODE, node_manifest(machine)) for machine in nodes)
    yield from exporter_pods(machine.name for machine in nodes)


def small() -> Iterator[Entry]:
    """The same with what real clusters have: oddities, and things that somebody made with kubectl."""
    yield from platform()
    nodes = machines(odd=True)
    yield from ((NODE, node_manifest(machine)) for machine in nodes)
    yield from exporter_pods(machine.name for machine in nodes if machine.name != UNMEASURED)
    yield from foreign()


def foreign() -> Iterator[Entry]:
    """A namespace, a queue, a topology and an aggregated graph that nobody made through Muster; its GPUs do nothing."""
    yield NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SANDBOX}}
    yield KAI_QUEUE, queue(SANDBOX, gpus=2)
    yield (
        KAI_TOPOLOGY,
        {
            "apiVersion": KAI_TOPOLOGY.api_version,
            "kind": KAI_TOPOLOGY.kind,
            "metadata": {"name": "by-hand"},
            "spec": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]},
        },
    )
    yield DYNAMO_GRAPH_DEPLOYMENT, _graph()


def _graph() -> Object:
    image = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
    worker = {
        "name": "main",
        "image": image,
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", "Qwen/Qwen3-0.6B"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return {
        "apiVersion": DYNAMO_GRAPH_DEPLOYMENT.api_version,
        "kind": DYNAMO_GRAPH_DEPLOYMENT.kind,
        "metadata": {
            "name": "trial-chat",
            "namespace": SANDBOX,
            "annotations": {"nvidia.com/kai-scheduler-queue": SANDBOX},
        },
        "spec": {
            "backendFramework": "vllm",
            "components": [
                {
                    "name": "Frontend",
                    "type": "frontend",
                    "replicas": 1,
                    "podTemplate": {"spec": {"containers": [{"name": "main", "image": image}]}},
                },
                {
                    "name": "VllmWorker",
                    "type": "worker",
                    "replicas": 2,
                    "podTemplate": {"metadata": {"annotations": {LOAD: "idle"}}, "spec": {"containers": [worker]}},
                },
            ],
        },
    }
