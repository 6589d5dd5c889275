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
from django.db.models import Count, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import In

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
from clusters.names import QUEUE_LABEL
from core.templatetags.ui import and_more
from topology.durations import is_go_duration
from workloads.graph import read_wishes

Row = tuple[UUID, str, str]  # cluster, plural, name

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
    """What others made, and what is wrong, in the clusters. At most 5 queries, however many clusters there are."""
    by_id = {cluster.pk: cluster for cluster in clusters}
    parents = _parent_queues(by_id)
    rows = list(_of_concern(by_id, parents))
    faults = [
        *_equal_names(by_id),
        *_in_parent_queues(by_id, rows, parents),
        *((by_id[row.cluster_id], finding) for row in rows for finding in _durations(row)),
    ]
    graphs = [_graph(by_id[row.cluster_id], row) for row in rows if row.plural == DYNAMO_GRAPH_DEPLOYMENT.plural]
    return Found(tuple(graphs), tuple(faults[:SHOWN]))


def _graph(cluster: Cluster, row: ClusterObject) -> ForeignGraph:
    state = str((row.manifest.get("status") or {}).get("state") or "")
    return ForeignGraph(row.name, row.namespace, cluster, row.made_by, state, row.created_at)


def _is(kind: Kind) -> Q:
    return Q(group=kind.group, plural=kind.plural)


def _parent_queues(clusters: Mapping[UUID, Cluster]) -> set[tuple[UUID, str]]:
    """(cluster, name) of the queues that have queues below them."""
    queues = ClusterObject.objects.filter(_is(KAI_QUEUE), cluster__in=clusters)
    above = queues.values_list("cluster_id", "manifest__spec__parentQueue")
    return {(cluster, str(name)) for cluster, name in above if name}


def _of_concern(clusters: Mapping[UUID, Cluster], parents: Collection[tuple[UUID, str]]) -> QuerySet[ClusterObject]:
    """Graphs of others; clique sets, pod groups and shards that may have one of the faults."""
    above = sorted({name for _, name in parents})
    has_duration = Q(manifest__spec__has_any_keys=list(GROUP_DURATIONS))
    wanted = (
        (_is(DYNAMO_GRAPH_DEPLOYMENT) & Q(owner=""))
        | (_is(GROVE_POD_CLIQUE_SET) & Q(In(KeyTextTransform(QUEUE_LABEL, "manifest__metadata__labels"), above)))
        | (_is(KAI_POD_GROUP) & (has_duration | Q(manifest__spec__queue__in=above)))
        | _is(KAI_SCHEDULING_SHARD)
    )
    return ClusterObject.objects.filter(wanted, cluster__in=clusters).order_by("name", "namespace", "cluster__name")


def _equal_names(clusters: Mapping[UUID, Cluster]) -> Iterator[tuple[Cluster, GangFinding]]:
    """KAI indexes gangs by bare name, and the names of gangs come from those of graphs and clique sets."""
    kinds = (DYNAMO_GRAPH_DEPLOYMENT, GROVE_POD_CLIQUE_SET, KAI_POD_GROUP)
    wanted = _is(kinds[0]) | _is(kinds[1]) | _is(kinds[2])
    rows = ClusterObject.objects.filter(wanted, cluster__in=clusters).order_by("name")
    counted = rows.values_list("cluster_id", "plural", "name").annotate(n=Count("namespace", distinct=True))
    twice = [row[:3] for row in counted.filter(n__gt=1)]
    spaces = _namespaces(rows, twice)
    said: list[tuple[UUID, str]] = []
    for kind in kinds:
        for row in twice:
            cluster, plural, name = row
            known = any(where == cluster and _is_part(name, other) for where, other in said)
            if plural == kind.plural and not known:
                said.append((cluster, name))
                yield clusters[cluster], GangFinding(GangFault.EQUAL_NAMES, kind.kind, name, and_more(spaces[row]))


def _namespaces(rows: QuerySet[ClusterObject], twice: Sequence[Row]) -> dict[Row, list[str]]:
    """Where each of these is, by name. No query where there is none."""
    found: dict[Row, list[str]] = {row: [] for row in twice}
    if twice:
        places = rows.filter(name__in={name for *_, name in twice}).order_by("namespace")
        for cluster, plural, name, namespace in places.values_list("cluster_id", "plural", "name", "namespace"):
            named = found.get((cluster, plural, name))
            if named is not None and namespace not in named:
                named.append(namespace)
    return found


def _in_parent_queues(
    clusters: Mapping[UUID, Cluster], rows: Sequence[ClusterObject], parents: Collection[tuple[UUID, str]]
) -> Iterator[tuple[Cluster, GangFinding]]:
    """Work in queues that are no leaves, said once where graph, clique set and pod group are of one: the graph names
    its queue before anything else exists."""
    said: list[tuple[UUID, str, str]] = []
    for kind in (DYNAMO_GRAPH_DEPLOYMENT, GROVE_POD_CLIQUE_SET, KAI_POD_GROUP):
        for row in rows:
            queue = _queue_of(row) if row.plural == kind.plural else ""
            known = any(
                row.cluster_id == at and row.namespace == space and _is_part(row.name, of) for at, space, of in said
            )
            if queue and (row.cluster_id, queue) in parents and not known:
                said.append((row.cluster_id, row.namespace, row.name))
                name = f"{row.namespace}/{row.name}"
                yield clusters[row.cluster_id], GangFinding(GangFault.PARENT_QUEUE, kind.kind, name, queue)


def _is_part(name: str, of: str) -> bool:
    """Whether one object's name is made from another's."""
    return f"{name}-".startswith(f"{of}-")


def _queue_of(row: ClusterObject) -> str:
    """The queue that a graph, a clique set or a pod group names."""
    if row.plural == KAI_POD_GROUP.plural:
        return str((row.manifest.get("spec") or {}).get("queue") or "")
    return read_wishes(row.manifest).queue


def _durations(row: ClusterObject) -> Iterator[GangFinding]:
    spec = row.manifest.get("spec") or {}
    if row.plural == KAI_SCHEDULING_SHARD.plural:
        least = spec.get("minRuntime")
        yield from _unreadable(KAI_SCHEDULING_SHARD, row.name, least if isinstance(least, dict) else {})
    elif row.plural == KAI_POD_GROUP.plural:
        yield from _unreadable(KAI_POD_GROUP, f"{row.namespace}/{row.name}", spec)


def _unreadable(kind: Kind, name: str, spec: Mapping[str, Any]) -> Iterator[GangFinding]:
    for field in (*GROUP_DURATIONS, *SHARD_DURATIONS):
        if spec.get(field) and not is_go_duration(str(spec[field])):
            yield GangFinding(GangFault.BAD_DURATION, kind.kind, name, f"{field}: {spec[field]}"[:200])
