"""What pods hold that ask for GPU memory (KAI's annotation `gpu-memory`): a part of a device, known only with the node.

Where the node does not tell its GPU memory nothing is charged, and `gpus.uncounted` pods are said to be uncounted:
KAI itself would take a default of 100 MiB, which makes a device of every part.
"""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

from django.db.models import F

from clusters.gpus import memory_share
from clusters.models import Cluster, Node, Pod
from core.live import publish

ASKED = "gpuMemory"


def charge(cluster_id: UUID, pods: Sequence[Pod]) -> None:
    """Give `gpus` to those of the unsaved `pods` that ask for memory. 1 query where there is any, else none."""
    asking = [pod for pod in pods if pod.node_name and ASKED in pod.scheduling]
    if not asking:
        return
    nodes = Node.objects.filter(cluster_id=cluster_id, name__in={pod.node_name for pod in asking})
    sizes = dict(nodes.values_list("name", "gpu_memory_mib"))
    for pod in asking:
        share = memory_share(pod.scheduling[ASKED], pod.scheduling.get("devices", "1"), sizes.get(pod.node_name))
        pod.gpus = share or Decimal(0)


def charge_again(cluster_id: UUID, nodes: Sequence[Node]) -> None:
    """The same for the pods on `nodes`, whose GPU memory has become another. 1 query where there is none."""
    if not nodes:
        return
    names = [node.name for node in nodes]
    pods = list(Pod.objects.filter(cluster_id=cluster_id, node_name__in=names, scheduling__gpuMemory__isnull=False))
    if pods:
        charge(cluster_id, pods)
        Pod.objects.bulk_update(pods, ["gpus"])
        Cluster.objects.filter(pk=cluster_id).update(pods_version=F("pods_version") + 1)
        publish(f"{Pod._meta.label}@{cluster_id}")
