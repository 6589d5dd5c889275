import uuid
from typing import Any

import pytest

from clusters import kinds
from clusters.kube.fake import FakeGateway
from topology.models import NetworkTopology, NodePool

ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
HOST = "kubernetes.io/hostname"


@pytest.fixture
def topology(cluster: Any) -> NetworkTopology:
    return NetworkTopology.objects.create(
        id=uuid.UUID("7d8c2c0e-3f1e-4a6a-9b56-0d0f6f6c1a11"),
        cluster=cluster,
        name="dc-topology",
        levels=[ZONE, RACK, HOST],
    )


@pytest.fixture
def pool(cluster: Any) -> NodePool:
    return NodePool.objects.create(cluster=cluster, name="h200", label_key="node-pool", label_value="h200")


def put_node(gateway: FakeGateway, name: str, gpus: int = 8, **labels: str) -> None:
    """A ready node; `labels` take `zone`, `rack` for the long keys, other keys with `__` for `/` and `_` for `-`."""
    short = {"zone": ZONE, "rack": RACK}
    found = {short.get(key, key.replace("__", "/").replace("_", "-")): value for key, value in labels.items()}
    gateway.put(
        kinds.NODE,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {HOST: name, **found}},
            "status": {
                "capacity": {"nvidia.com/gpu": str(gpus)} if gpus else {"cpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
        manager="kubelet",
    )


def labels(gateway: FakeGateway, name: str) -> dict[str, str]:
    found: dict[str, str] = gateway.object(kinds.NODE, name)["metadata"].get("labels", {})
    return found
