"""What another label of a node pool does, shown before it is saved."""

from typing import Any

from accounts.models import User
from clusters.models import Cluster
from organizations.models import Project
from tests.organizations.shard_rows import add_gang, add_nodes, add_queue
from topology.models import NodePool


def test_another_label_of_a_pool_says_which_work_leaves_it(
    admin: User, cluster: Cluster, pool: NodePool, project: Project, client_of: Any
) -> None:
    fast = NodePool.objects.create(cluster=cluster, name="fast", label_key="tier", label_value="fast", phase="Ready")
    add_nodes(cluster, 1, prefix="f", node_pool="fast", labels={"tier": "fast", "kai.scheduler/node-pool": "fast"})
    add_queue(cluster, project.department, fast, gpus=8, name="research-fast")
    add_queue(cluster, project, fast, gpus=8, name="assistant-fast")
    labels = {"labels": {"kai.scheduler/node-pool": "fast"}}
    add_gang(cluster, "assistant-fast", "quick", 8, on=("f0",), metadata=labels)

    response = client_of(admin).post(
        f"/node-pools/{fast.pk}/edit/",
        {"label_key": "tier", "label_value": "faster", "gpu_placement_strategy": "binpack",
         "cpu_placement_strategy": "binpack", "min_guaranteed_runtime": "", "network_topology": "",
         "generation": fast.generation},
    )  # fmt: skip

    assert response.status_code == 422
    details = " ".join(item["detail"] for item in response.context["warnings"])
    assert "quick of assistant, 8 GPUs" in details
