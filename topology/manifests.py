"""Renders what Muster writes for topologies and node pools: KAI Topology and SchedulingShard, Grove's binding, the
node label. Pure: takes values, returns dicts; knows neither models nor the client.

Shapes: KAI v0.17 `kai.scheduler_topologies`, `kai.scheduler_schedulingshards`; Grove
`grove.io_clustertopologybindings`; levels broadest first in both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_SCHEDULING_SHARD, KAI_TOPOLOGY, NODE
from clusters.names import HOSTNAME_LABEL, MANAGED_BY, MANAGED_BY_LABEL, NODE_POOL_LABEL, OWNER_LABEL

Manifest = dict[str, Any]

KAI_SCHEDULER_NAME = "kai-scheduler"
# Grove's CRD allows no longer key, KAI's does (316).
GROVE_KEY_LENGTH = 63

_KNOWN_DOMAINS = {
    "topology.kubernetes.io/region": "region",
    "topology.kubernetes.io/zone": "zone",
    HOSTNAME_LABEL: "host",
}


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """A network topology: label keys, broadest (farthest) first. `owner` is the value of `OWNER_LABEL`."""

    name: str
    levels: tuple[str, ...]
    owner: str


@dataclass(frozen=True, slots=True)
class ShardSpec:
    """The scheduler shard of a node pool that is not the default one. `min_runtime` is a Go duration or empty."""

    pool: str
    owner: str
    gpu_strategy: str = "binpack"
    cpu_strategy: str = "binpack"
    min_runtime: str = ""


def topology_manifest(spec: TopologySpec) -> Manifest:
    """The KAI Topology. Without aliases: they need KAI ≥ v0.17 and every constraint can name the label key."""
    return {
        "apiVersion": KAI_TOPOLOGY.api_version,
        "kind": KAI_TOPOLOGY.kind,
        "metadata": _metadata(spec.name, spec.owner),
        "spec": {"levels": [{"nodeLabel": key} for key in spec.levels]},
    }


def binding_manifest(spec: TopologySpec) -> Manifest:
    """Grove's ClusterTopologyBinding, which refers to our KAI Topology instead of making one of its own."""
    domains = grove_domains(spec.levels)
    return {
        "apiVersion": GROVE_CLUSTER_TOPOLOGY_BINDING.api_version,
        "kind": GROVE_CLUSTER_TOPOLOGY_BINDING.kind,
        "metadata": _metadata(spec.name, spec.owner),
        "spec": {
            "levels": [{"domain": domain, "key": key} for domain, key in zip(domains, spec.levels, strict=True)],
            "schedulerTopologyBindings": [{"schedulerName": KAI_SCHEDULER_NAME, "topologyReference": spec.name}],
        },
    }


def grove_domains(levels: Sequence[str]) -> tuple[str, ...]:
    """Grove's name of each level (`zone`, `rack`, `host`, …): lower-case, unique, from the end of the label key."""
    names: list[str] = []
    for key in levels:
        name = _KNOWN_DOMAINS.get(key) or re.sub(r"[^a-z0-9-]+", "-", key.rpartition("/")[2].lower())
        name = name.strip("-")[:60]
        if not re.match(r"[a-z]", name):
            name = f"level-{name}"[:60].rstrip("-")
        unique, number = name, 2
        while unique in names:
            unique, number = f"{name}-{number}", number + 1
        names.append(unique)
    return tuple(names)


def shard_manifest(spec: ShardSpec) -> Manifest:
    """The SchedulingShard of the pool; KAI's operator runs one scheduler for it."""
    content: dict[str, Any] = {
        "partitionLabelValue": spec.pool,
        "placementStrategy": {"gpu": spec.gpu_strategy, "cpu": spec.cpu_strategy},
    }
    if spec.min_runtime:
        content["minRuntime"] = {"preemptMinRuntime": spec.min_runtime, "reclaimMinRuntime": spec.min_runtime}
    return {
        "apiVersion": KAI_SCHEDULING_SHARD.api_version,
        "kind": KAI_SCHEDULING_SHARD.kind,
        "metadata": _metadata(spec.pool, spec.owner),
        "spec": content,
    }


def node_label_manifest(node: str, uid: str, pool: str) -> Manifest:
    """All that Muster says of a node: its pool's label. An empty `pool` takes our label away again.

    The uid is a precondition: applying to a node that has just gone would make a new Node object.
    """
    metadata: dict[str, Any] = {"name": node, "uid": uid}
    if pool:
        metadata["labels"] = {NODE_POOL_LABEL: pool}
    return {"apiVersion": NODE.api_version, "kind": NODE.kind, "metadata": metadata}


def _metadata(name: str, owner: str) -> dict[str, Any]:
    return {"name": name, "labels": {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: owner}}
