"""Graphs that others made in the clusters, and what is wrong with gangs, whoever made them, as the watcher saw it.

Each fault stops more than itself or has no word from the scheduler: golden/SURPRISES.md §1, kai-scheduler.md §0.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, Min, Q, QuerySet

from accounts.models import User
from accounts.permissions import reach
from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_POD_CLIQUE_SET,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    Kind,
)
from clusters.models import Cluster, ClusterObject
from topology.durations import is_go_duration

SHOWN = 20
GROUP_DURATIONS = ("preemptionDelay", "stalenessGracePeriod")
SHARD_DURATIONS = ("preemptMinRuntime", "reclaimMinRuntime")


class GangFault(StrEnum):
    """What a finding says."""

    EQUAL_NAMES = "equal-names"
    PARENT_QUEUE = "parent-queue"
    BAD_DURATION = "bad-duration"


@dataclass(frozen=True, slots=True)
class GangFinding:
    """`name` is the object's, with its namespace where it has one; `value` what is wrong about it."""

    fault: GangFault
    kind: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ForeignGraph:
    """A graph that somebody else made: read-only."""

    name: str
    namespace: str
    cluster: Cluster
    made_by: str
    state: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """What a list of workloads says beside its rows."""

    graphs: tuple[ForeignGraph, ...] = ()
    faults: tuple[tuple[Cluster, GangFinding], ...] = ()


def readable_clusters(user: User | AnonymousUser, chosen: Cluster | None) -> list[Cluster]:
    """Clusters of which `user` may read every workload, for what is not ours to scope."""
    where = reach(user, "workloads:read")
    rows = Cluster.objects.all() if where.everywhere else Cluster.objects.filter(pk__in=where.clusters)
    return list(rows.filter(pk=chosen.pk) if chosen else rows.order_by("name"))


def found_in(clusters: Sequence[Cluster]) -> Found:
    """What others made, and what is wrong, in the clusters. At most 4 queries, however many clusters there are."""
    by_id = {cluster.pk: cluster for cluster in clusters}
    parents = _parent_queues(by_id)
    faults = list(_equal_names(by_id))
    graphs = []
    for row in _of_concern(by_id, parents):
        cluster = by_id[row.cluster_id]
        if row.plural == DYNAMO_GRAPH_DEPLOYMENT.plural:
            state = str((row.manifest.get("status") or {}).get("state") or "")
            graphs.append(ForeignGraph(row.name, row.namespace, cluster, row.made_by, state, row.created_at))
        else:
            faults += [(cluster, finding) for finding in _findings(row, parents)]
    return Found(tuple(graphs), tuple(faults[:SHOWN]))


def _is(kind: Kind) -> Q:
    return Q(group=kind.group, plural=kind.plural)


def _parent_queues(clusters: Mapping[UUID, Cluster]) -> set[tuple[UUID, str]]:
    """(cluster, name) of the queues that have queues below them."""
    queues = ClusterObject.objects.filter(_is(KAI_QUEUE), cluster__in=clusters)
    above = queues.values_list("cluster_id", "manifest__spec__parentQueue")
    return {(cluster, str(name)) for cluster, name in above if name}


def _of_concern(clusters: Mapping[UUID, Cluster], parents: Collection[tuple[UUID, str]]) -> QuerySet[ClusterObject]:
    """Graphs of others; pod groups and shards that may have one of the faults."""
    has_duration = Q(manifest__spec__has_any_keys=list(GROUP_DURATIONS))
    in_parent = Q(manifest__spec__queue__in=sorted({name for _, name in parents}))
    wanted = (
        (_is(DYNAMO_GRAPH_DEPLOYMENT) & Q(owner=""))
        | (_is(KAI_POD_GROUP) & (has_duration | in_parent))
        | _is(KAI_SCHEDULING_SHARD)
    )
    return ClusterObject.objects.filter(wanted, cluster__in=clusters).order_by("name", "namespace", "cluster__name")


def _equal_names(clusters: Mapping[UUID, Cluster]) -> Iterator[tuple[Cluster, GangFinding]]:
    """KAI indexes gangs by bare name, and the names of gangs come from those of graphs and clique sets."""
    kinds = (DYNAMO_GRAPH_DEPLOYMENT, GROVE_POD_CLIQUE_SET, KAI_POD_GROUP)
    wanted = _is(kinds[0]) | _is(kinds[1]) | _is(kinds[2])
    rows = ClusterObject.objects.filter(wanted, cluster__in=clusters).order_by("name")
    spaces = rows.values("cluster_id", "plural", "name").annotate(
        n=Count("namespace", distinct=True), first=Min("namespace"), last=Max("namespace")
    )
    twice = {(row["cluster_id"], row["plural"], row["name"]): row for row in spaces.filter(n__gt=1)}
    said: list[tuple[UUID, str]] = []
    for kind in kinds:
        for (cluster, plural, name), row in twice.items():
            known = any(where == cluster and f"{name}-".startswith(f"{other}-") for where, other in said)
            if plural == kind.plural and not known:
                said.append((cluster, name))
                listed = f"{row['first']}, {row['last']}" if row["n"] == 2 else f"{row['first']} … {row['last']}"
                yield clusters[cluster], GangFinding(GangFault.EQUAL_NAMES, kind.kind, name, listed)


def _findings(row: ClusterObject, parents: Collection[tuple[UUID, str]]) -> Iterator[GangFinding]:
    spec = row.manifest.get("spec") or {}
    if row.plural == KAI_SCHEDULING_SHARD.plural:
        least = spec.get("minRuntime")
        yield from _unreadable(KAI_SCHEDULING_SHARD, row.name, least if isinstance(least, dict) else {})
        return
    name = f"{row.namespace}/{row.name}"
    yield from _unreadable(KAI_POD_GROUP, name, spec)
    if (row.cluster_id, spec.get("queue")) in parents:
        yield GangFinding(GangFault.PARENT_QUEUE, KAI_POD_GROUP.kind, name, str(spec["queue"]))


def _unreadable(kind: Kind, name: str, spec: Mapping[str, Any]) -> Iterator[GangFinding]:
    for field in (*GROUP_DURATIONS, *SHARD_DURATIONS):
        if spec.get(field) and not is_go_duration(str(spec[field])):
            yield GangFinding(GangFault.BAD_DURATION, kind.kind, name, f"{field}: {spec[field]}"[:200])
