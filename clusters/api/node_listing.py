"""Lists of nodes, from the text that the database has: their labels and devices are passed on without being read."""

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from clusters.api.shapes import GpuInfo, NodeCondition, NodeShape, NodeStatus, Taint
from clusters.models import Node
from clusters.names import DEFAULT_NODE_POOL
from core.api.columns import Remembered, as_text, moment_of, uuid_text

COLUMNS = (
    "pk", "uid", "name", as_text("cluster_id"), "ready", as_text("conditions"), as_text("taints"), "node_pool",
    as_text("created_at"), "gpu_type", "gpu_capacity", "gpu_allocatable", as_text("labels"), "cordoned",
    as_text("mig"),
)  # fmt: skip
STATUS: dict[str, NodeStatus] = {"True": "Ready", "False": "NotReady"}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
CLIQUE_LABEL = "nvidia.com/gpu.clique"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMESPACE = uuid.UUID("6f1c1f43-6f0b-4f0e-9a35-0d1f6c7e2b11")
_conditions = msgspec.json.Decoder(list[NodeCondition])
_taints = msgspec.json.Decoder(list[Taint])


def shown_nodes(keys: Sequence[int]) -> list[NodeShape]:
    """Schema Node of the rows with these ids, in this order; those that are gone are left out. One query."""
    rows = {row[0]: row for row in Node.objects.filter(pk__in=keys).order_by().values_list(*COLUMNS)}
    return list(_shown(rows[key] for key in keys if key in rows))


def _shown(rows: Iterator[tuple[Any, ...]]) -> Iterator[NodeShape]:
    clusters, taints, gpus = Remembered(uuid_text), Remembered(_taints_of), Remembered(lambda of: GpuInfo(*of))
    for row in rows:
        (_pk, uid, name, cluster, ready, conditions, tainted, pool, created, gpu_type, capacity, allocatable, labels,
         cordoned, mig) = row  # fmt: skip
        at = moment_of(created)
        yield NodeShape(
            id=node_id(uid, clusters[cluster]),
            name=name,
            cluster_uuid=clusters[cluster],
            status=STATUS.get(ready, "Unknown"),
            conditions=_conditions.decode(conditions),
            taints=taints[tainted],
            node_pool=pool or DEFAULT_NODE_POOL,
            created_at=at,
            updated_at=at,
            gpu_info=gpus[gpu_type, capacity] if capacity else None,
            nv_link_domain_uid=None,
            nv_link_clique_id=msgspec.json.decode(labels).get(CLIQUE_LABEL) if CLIQUE_LABEL in labels else None,
            cordoned=cordoned,
            labels=msgspec.Raw(labels),
            allocatable_gpus=allocatable,
            mig_devices=msgspec.Raw(mig),
        )


def node_id(uid: str, cluster: str) -> str:
    """The node's uid, which Kubernetes makes a UUID; a derived one where a server does not."""
    if _UUID.fullmatch(uid):
        return uid
    try:
        return str(uuid.UUID(uid))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, f"{cluster}/{uid}"))


def _taints_of(text: str) -> list[Taint]:
    return [taint for taint in _taints.decode(text) if taint.effect in EFFECTS]
