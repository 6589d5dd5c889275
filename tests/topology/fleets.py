"""Node facts as the drawn fleet has them: 2 zones, 6 racks, 18 nodes of 8 GPUs; gpu-09 lacks its rack label."""

from decimal import Decimal

from topology.suggestions import NodeFacts

ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
HOST = "kubernetes.io/hostname"

RACKS = ["z1-r1"] * 3 + ["z1-r2"] * 3 + ["z1-r3"] * 3 + ["z2-r1"] * 3 + ["z2-r2"] * 3 + ["z2-r3"] * 3


def drawn_fleet() -> list[NodeFacts]:
    nodes = []
    for number, rack in enumerate(RACKS, start=1):
        name = f"gpu-{number:02}"
        labels = {
            "topology.kubernetes.io/region": "eu-1",
            ZONE: rack[:2],
            RACK: rack,
            HOST: name,
            "nvidia.com/gpu.product": "H200" if number > 16 else "H100",
            "kubernetes.io/arch": "amd64",
        }
        if number > 16:
            labels["node-pool"] = "h200"
        if number == 9:
            del labels[RACK]
        nodes.append(NodeFacts(name, labels, gpus=8, allocated=Decimal(0)))
    return nodes


def with_labels(name: str, **labels: str) -> NodeFacts:
    return NodeFacts(name, {key.replace("_", "/"): value for key, value in labels.items()}, gpus=8)
