"""What gangs of an impact are called: by their workload, as far as the viewer may know it; one entry per workload."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from clusters.kinds import KAI_POD_GROUP
from clusters.models import Cluster, ClusterObject, Pod
from scheduling.impact import Hit
from topology.hooks import names_for, reads_all_work

Shown = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Names:
    """What a viewer may call queues and namespaces: the project's name, "" or absent where it may not be told.

    `sees_all`: whoever reads all work of the cluster is told the namespaces and queues that no project has, too.
    `workloads`: the workload of a gang, by the gang's key `namespace/name`; absent where the gang is one by itself.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    namespaces: Mapping[str, str] = field(default_factory=dict)
    workloads: Mapping[str, str] = field(default_factory=dict)
    sees_all: bool = False

    @classmethod
    def of(cls, user: Any, cluster: Cluster, hits: Sequence[Hit]) -> Self:
        """Names for the gangs of `hits` and for those that they go for."""
        queues, namespaces = names_for(user, cluster)
        keys = {key for hit in hits for key in (hit.podgroup, hit.evictor) if key}
        return cls(queues, namespaces, workloads_of(cluster, keys), reads_all_work(user, cluster.pk))

    def project(self, key: str) -> str:
        """The project in whose namespace a gang stands, or the namespace; "" where the viewer may not know it."""
        namespace = key.partition("/")[0]
        return self.namespaces.get(namespace) or (namespace if self.sees_all else "")

    def queue(self, name: str) -> str:
        """The owner of a queue, or the queue's own name; "" where the viewer may not know it."""
        return self.queues.get(name) or (name if self.sees_all else "")

    def workload(self, key: str) -> str:
        """The name of a gang's workload, whether the viewer may know it or not."""
        return self.workloads.get(key) or key.partition("/")[2]


def workloads_of(cluster: Cluster, keys: Collection[str]) -> dict[str, str]:
    """By gang: the graph that its pods name (a workload of Muster is called like its graph), else the owner."""
    groups = {key.partition("/")[2] for key in keys}
    objects = ClusterObject.objects.filter(
        cluster=cluster, group=KAI_POD_GROUP.group, plural=KAI_POD_GROUP.plural, name__in=groups
    )
    owners = objects.values_list("namespace", "name", "manifest__metadata__ownerReferences__0__name")
    pods = Pod.objects.filter(cluster=cluster, pod_group__in=groups).exclude(graph="")
    graphs = pods.values_list("namespace", "pod_group", "graph").distinct()
    return {f"{namespace}/{group}": name for namespace, group, name in (*owners, *graphs) if name}


def workload_entries(hits: Sequence[Hit], pool: str, names: Names) -> list[Shown]:
    """One entry per workload and effect, in the order of `hits`; gangs of one workload are added up.

    Gangs that go for different workloads stay apart.
    """
    found: dict[tuple[str, ...], Shown] = {}
    for hit in hits:
        namespace = hit.podgroup.partition("/")[0]
        evictor = (hit.evictor.partition("/")[0], names.workload(hit.evictor))
        key = (hit.effect.value, namespace, names.workload(hit.podgroup), *evictor)
        entry = _entry(hit, pool, names)
        found[key] = _added(found[key], entry) if key in found else entry
    return list(found.values())


def _entry(hit: Hit, pool: str, names: Names) -> Shown:
    project = names.project(hit.podgroup)
    entry: Shown = {
        "name": names.workload(hit.podgroup) if project else None,
        "project": project or None,
        "pool": pool,
        "effect": hit.effect.value,
        "gpus": plain(hit.gpus),
        "pods": hit.pods,
        "running": hit.running,
    }
    if hit.evictor:
        owner = names.project(hit.evictor)
        entry["for"] = {"name": names.workload(hit.evictor) if owner else None, "project": owner or None}
    if hit.topology:
        entry |= {"topology": hit.topology, "levels": list(dict.fromkeys(hit.levels))}
    return entry


def _added(entry: Shown, more: Shown) -> Shown:
    added = {
        **entry,
        "gpus": plain(entry["gpus"] + more["gpus"]),
        "pods": entry["pods"] + more["pods"],
        "running": entry["running"] or more["running"],
    }
    if levels := (*entry.get("levels", ()), *more.get("levels", ())):
        added |= {"topology": entry.get("topology") or more["topology"], "levels": list(dict.fromkeys(levels))}
    return added


def plain(amount: float) -> int | float:
    """An amount for JSON: whole where it is whole, else to six places, as quotas have them."""
    return int(amount) if amount == int(amount) else round(amount, 6)
