"""Reads clusters, nodes and what is held on them. Nothing here asks a cluster."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Count, DecimalField, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.models import User
from clusters.colours import Devices
from clusters.gpu_map import Cell, MapNode, cells_of, not_measured
from clusters.gpus import GpuStrip, NodeGpus, node_gpus
from clusters.kept import LARGE_NODES, kept
from clusters.kinds import KAI_TOPOLOGY
from clusters.models import Cluster, ClusterEvent, ClusterObject, Node, Pod
from clusters.names import DEFAULT_NODE_POOL, HOSTNAME_LABEL
from core.errors import NotFound
from scheduling.structs import FINISHED

Viewer = User | AnonymousUser
# A stream says something at least this often (bookmarks, the end of a watch); later it is stale.
SILENT_AFTER = timedelta(seconds=90)


@dataclass(frozen=True, slots=True)
class WatchState:
    """How current the observed rows of a cluster are. `since`: when the cluster was last heard."""

    stale: bool
    since: datetime | None = None
    reason: str = ""
    failed: tuple[tuple[str, str], ...] = ()  # (kind, why) of single streams


def gpu_strip(user: Viewer, cluster: Cluster | None = None, *, nodes: QuerySet[Node] | None = None) -> GpuStrip:
    """The strip over the nodes that `user` sees: of one cluster, of a given set of nodes, or of all. 3 queries at most,
    and two more for each large cluster that has changed since it was asked for; 1 where there is no node."""
    strip = _strip(user, cluster, nodes)
    if strip.nodes or nodes is not None:
        return strip
    rows = [cluster] if cluster else list(Cluster.objects.visible_to(user).only("pk", "streams"))
    return replace(strip, known=not rows or any(row.nodes_read for row in rows))


def never_read(cluster_ids: Iterable[Any]) -> frozenset[Any]:
    """Those clusters of which no node was ever listed: their zeros are none. 1 query, none without an id."""
    asked = set(cluster_ids)
    nodes = Node.objects.filter(cluster=OuterRef("pk"))
    rows = Cluster.objects.filter(~Exists(nodes), pk__in=asked).only("pk", "streams") if asked else ()
    return frozenset(row.pk for row in rows if not row.nodes_read)


def _strip(user: Viewer, cluster: Cluster | None, nodes: QuerySet[Node] | None) -> GpuStrip:
    only = [cluster] if cluster else None
    if nodes is not None:
        return _gpu_strip(user, only, nodes)
    seen = _with_nodes(user, cluster)
    large = [row for row in seen if row.nodes_count > LARGE_NODES]
    if not large:
        return _gpu_strip(user, only)
    strips = [kept(("strip", row.pk), _version(row), partial(_gpu_strip, user, [row])) for row in large]
    small = [row for row in seen if row.nodes_count <= LARGE_NODES]
    strips += [_gpu_strip(user, small)] if small else []
    return sum(strips[1:], strips[0])


def observed_versions(cluster_ids: Iterable[Any]) -> dict[Any, tuple[int, int]]:
    """By cluster id what changes with every change of its nodes and pods, to keep what is computed from them
    (`clusters.kept`). Large clusters only: with a small one it is not worth it. 1 query."""
    rows: Iterable[Any] = Cluster.objects.annotate(nodes_count=_nodes_count()).filter(pk__in=list(cluster_ids))
    return {row.pk: _version(row) for row in rows if row.nodes_count > LARGE_NODES}


def _with_nodes(user: Viewer, cluster: Cluster | None) -> list[Any]:
    """The clusters whose nodes `user` sees, with `nodes_count` and versions. 1 query."""
    seen = Node.objects.visible_to(user).filter(cluster=OuterRef("pk"))
    rows = Cluster.objects.filter(Exists(seen)).annotate(nodes_count=_nodes_count())
    if cluster is not None:
        rows = rows.filter(pk=cluster.pk)
    return list(rows.only("pk", "nodes_version", "pods_version"))


def _nodes_count() -> Coalesce:
    nodes = Node.objects.filter(cluster=OuterRef("pk")).order_by().values("cluster")
    return Coalesce(Subquery(nodes.annotate(n=Count("pk")).values("n")), 0)


def _version(cluster: Cluster) -> tuple[int, int]:
    return cluster.nodes_version, cluster.pods_version


def _gpu_strip(user: Viewer, clusters: Sequence[Cluster] | None, nodes: QuerySet[Node] | None = None) -> GpuStrip:
    chosen = (Node.objects.all() if nodes is None else nodes).visible_to(user)  # type: ignore[attr-defined]  # ours
    if clusters is not None:
        chosen = chosen.filter(cluster__in=clusters)
    held = held_gpus(clusters)
    columns = ("cluster_id", "name", "gpu_capacity", "gpu_allocatable", "cordoned", "ready", "mig")
    total = allocated = free = cordoned = unhealthy = over = Decimal(0)
    mig: dict[str, int] = {}
    rows = list(chosen.values_list(*columns))
    for cluster_id, name, capacity, allocatable, is_cordoned, ready, slices in rows:
        share = held.pop((cluster_id, name), Decimal(0))
        gpus = node_gpus(capacity=capacity, allocatable=allocatable, held=share, cordoned=is_cordoned, ready=ready)
        total += gpus.total
        allocated += gpus.allocated
        free += gpus.free
        cordoned += gpus.cordoned
        unhealthy += gpus.unhealthy
        over += gpus.over
        for resource, count in slices.items():
            mig[resource] = mig.get(resource, 0) + count
    if nodes is None:
        known = {row[0] for row in rows} | {cluster.pk for cluster in clusters or ()}
        over += sum((gpus for (cluster_id, _), gpus in held.items() if cluster_id in known), Decimal(0))
    on_nodes = {(cluster_id, name) for cluster_id, name, *_rest in rows} if nodes is not None else None
    uncounted = _uncounted(clusters, on_nodes)
    return GpuStrip(int(total), allocated, free, cordoned, unhealthy, over, len(rows), mig, uncounted)


def cluster_list(user: Viewer) -> QuerySet[Cluster]:
    """Clusters that `user` sees, with `node_count` and `gpu_count`."""
    nodes = Node.objects.filter(cluster=OuterRef("pk")).order_by().values("cluster")
    return Cluster.objects.visible_to(user).annotate(
        node_count=Coalesce(Subquery(nodes.annotate(n=Count("pk")).values("n")), 0),
        gpu_count=Coalesce(Subquery(nodes.annotate(n=Sum("gpu_capacity")).values("n")), 0),
    )


def chosen_cluster(user: Viewer, choice: str) -> Cluster | None:
    """The cluster that `?cluster=` names by id or name; None for "" (all). Raises `NotFound`."""
    if not choice:
        return None
    visible = Cluster.objects.visible_to(user)
    named = visible.filter(name=choice[:63]).first() if "\x00" not in choice else None
    return named or visible.get_visible(user, pk=choice)


def node_rows(user: Viewer, cluster: Cluster | None = None) -> QuerySet[Node]:
    """Nodes that `user` sees, with `held` (GPUs), `usable`, `free`, `pod_count`, `pool` and `state`.

    `state` is Ready, Unhealthy (GPUs missing), Cordoned, NotReady or Unknown; `urgency` sorts by it.
    """
    rows = Node.objects.visible_to(user).select_related("cluster").defer("cluster__served", "cluster__components")
    if cluster is not None:
        rows = rows.filter(cluster=cluster)
    pods = running_pods().filter(cluster=OuterRef("cluster"), node_name=OuterRef("name")).order_by().values("node_name")
    amount = DecimalField(max_digits=14, decimal_places=4)
    healthy = Q(ready="True", cordoned=False)
    broken = Q(gpu_allocatable=None) | Q(gpu_allocatable__lt=F("gpu_capacity"))
    return rows.annotate(
        held=Coalesce(Subquery(pods.annotate(n=Sum("gpus")).values("n")), Value(0), output_field=amount),
        pod_count=Coalesce(Subquery(pods.annotate(n=Count("pk")).values("n")), 0),
        usable=Coalesce(F("gpu_allocatable"), 0),
        free=Case(
            When(healthy, then=Greatest(F("usable") - F("held"), Value(0), output_field=amount)),
            default=Value(0),
            output_field=amount,
        ),
        pool=Case(When(node_pool="", then=Value(DEFAULT_NODE_POOL)), default=F("node_pool")),
        state=Case(
            When(ready="False", then=Value("NotReady")),
            When(~Q(ready="True"), then=Value("Unknown")),
            When(broken, then=Value("Unhealthy")),
            When(cordoned=True, then=Value("Cordoned")),
            default=Value("Ready"),
        ),
        urgency=Case(
            When(ready="False", then=Value(0)),
            When(~Q(ready="True"), then=Value(1)),
            When(broken, then=Value(2)),
            When(cordoned=True, then=Value(3)),
            default=Value(4),
        ),
    )


def keep_node_ids(user: Viewer, cluster: Cluster | None) -> Callable[[Hashable, Callable[[], list[int]]], list[int]]:
    """Keeps the ids of a page of `node_rows` until a node or pod of one of the clusters changes, where one of them is
    large: to sort by what is free, all of its pods must be summed. 1 query."""
    seen = _with_nodes(user, cluster)
    large = any(row.nodes_count > LARGE_NODES for row in seen)
    version = tuple((row.pk, *_version(row)) for row in seen) if large else None
    return lambda wanted, find: kept(("node ids", user.pk, cluster and cluster.pk, wanted), version, find)


def topology_levels(cluster: Cluster) -> dict[str, list[str]]:
    """The label keys of each topology in the cluster, broadest first, without the hostname; ours first. 1 query."""
    found = ClusterObject.objects.filter(cluster=cluster, group=KAI_TOPOLOGY.group, plural=KAI_TOPOLOGY.plural)
    ours_first = found.order_by(Case(When(owner="", then=1), default=0), "name")
    ways: dict[str, list[str]] = {}
    for name, manifest in ours_first.values_list("name", "manifest"):
        levels: Sequence[Any] = (manifest.get("spec") or {}).get("levels") or ()
        keys = [str(level.get("nodeLabel", "")) for level in levels if isinstance(level, dict)]
        ways[name] = [key for key in keys if key and key != HOSTNAME_LABEL]
    return {name: keys for name, keys in ways.items() if keys}


def observed_version(user: Viewer, cluster: Cluster) -> tuple[int, int] | None:
    """Changes with every change of a large cluster's nodes and pods, by which what comes of them can be kept. None:
    it is not large, or `user` does not see its nodes. 1 query."""
    return next((_version(row) for row in _with_nodes(user, cluster) if row.nodes_count > LARGE_NODES), None)


def map_nodes(user: Viewer, cluster: Cluster, measured: Mapping[str, Devices] | None = None) -> list[MapNode]:
    """The GPU nodes of a cluster as the map needs them, by name, with the figures that were measured of them. 2
    queries, whatever their number."""
    held = held_gpus([cluster])
    address = reverse("clusters:node-detail", args=[0]).removesuffix("0/")
    rows = node_rows(user, cluster).filter(gpu_capacity__gt=0).order_by("name", "pk")
    columns = ("pk", "name", "labels", "gpu_capacity", "gpu_allocatable", "cordoned", "ready", "state")
    nodes = []
    for pk, name, labels, capacity, allocatable, cordoned, ready, state in rows.values_list(*columns):
        share = held.get((cluster.pk, name), Decimal(0))
        gpus = node_gpus(capacity=capacity, allocatable=allocatable, held=share, cordoned=cordoned, ready=ready)
        cells = cells_of(gpus) if measured is None else _cells(gpus, measured.get(name))
        nodes.append(MapNode(pk, name, labels, gpus, state, f"{address}{pk}/", cells))
    return nodes


def uncounted_pods() -> QuerySet[Pod]:
    """Pods on nodes that hold a part of a GPU which is not known (`clusters.watcher.memory`)."""
    return running_pods().filter(gpus=0, scheduling__gpuMemory__isnull=False).exclude(node_name="")


def uncounted_on(node: Node) -> int:
    """How many of them are on a node."""
    return uncounted_pods().filter(cluster_id=node.cluster_id, node_name=node.name).count()


def _uncounted(clusters: Sequence[Cluster] | None, on_nodes: set[tuple[UUID, str]] | None) -> int:
    pods = uncounted_pods()
    if clusters is not None:
        pods = pods.filter(cluster__in=clusters)
    places = pods.values_list("cluster_id", "node_name")
    return sum(on_nodes is None or place in on_nodes for place in places)


def pods_on(node: Node) -> list[Pod]:
    """Pods of a node that have not ended, by name. A node has few: asked to sort them, SQLite would rather go through
    those of the whole cluster, which an index has in that order."""
    pods = running_pods().filter(cluster_id=node.cluster_id, node_name=node.name)
    return sorted(pods.order_by(), key=lambda pod: (pod.namespace, pod.name))


def events_of_node(node: Node) -> QuerySet[ClusterEvent]:
    """Kubernetes events about one node, the newest first."""
    about = {"involved_kind": "Node", "involved_name": node.name, "namespace": ""}
    return ClusterEvent.objects.filter(cluster_id=node.cluster_id, **about).order_by("-last_seen_at", "-pk")


def watch_state(cluster: Cluster, *kinds: str, now: datetime | None = None) -> WatchState:
    """Whether what is shown of a cluster is current, for the streams of `kinds` (all where none is named). Pure."""
    now = now or timezone.now()
    streams: Mapping[str, Any] = {k: v for k, v in cluster.streams.items() if not kinds or k in kinds}
    heard = [moment for state in streams.values() if (moment := parse_datetime(state.get("eventAt") or ""))]
    since = max(heard, default=cluster.last_contact_at)
    if cluster.watcher_until is None or cluster.watcher_until < now:
        return WatchState(True, since, "NoWatcher")
    served = {kind: state for kind, state in streams.items() if state.get("served", True)}
    failed = tuple((kind, str(state["error"])) for kind, state in served.items() if state.get("error"))
    if failed and len(failed) == len(served):
        return WatchState(True, since, failed[0][1], failed)
    if since is None or now - since > SILENT_AFTER:
        return WatchState(True, since, "NothingHeard", failed)
    return WatchState(bool(failed), since, failed[0][1] if failed else "", failed)


def stale_clusters(user: Viewer, cluster: Cluster | None = None, *kinds: str) -> list[tuple[Cluster, WatchState]]:
    """The clusters whose observed rows are not current, for the notices of pages. 1 query."""
    rows: Sequence[Cluster] = [cluster] if cluster else list(Cluster.objects.visible_to(user).order_by("name"))
    return [(row, state) for row in rows if (state := watch_state(row, *kinds)).stale]


def get_node(user: Viewer, pk: str) -> Node:
    """A node with its cluster; `NotFound` alike for absent, invisible and malformed ids."""
    if not (pk.isascii() and pk.isdigit() and len(pk) <= 18):
        raise NotFound
    found: Node = node_rows(user).get_visible(user, pk=int(pk))  # type: ignore[attr-defined]  # ours
    return found


def _cells(gpus: NodeGpus, devices: Devices | None) -> list[Cell]:
    return cells_of(gpus, devices) if devices and devices.values else not_measured(cells_of(gpus))


def running_pods() -> QuerySet[Pod]:
    """Pods that have not ended."""
    return Pod.objects.exclude(phase__in=FINISHED)


def held_gpus(clusters: Iterable[Any] | None) -> dict[tuple[UUID, str], Decimal]:
    """GPUs that pods hold, by cluster id and node name: of these clusters (rows or ids), or of all. 1 query."""
    pods = running_pods().exclude(node_name="").filter(gpus__gt=0)
    if clusters is not None:
        pods = pods.filter(cluster__in=list(clusters))
    sums = pods.order_by().values_list("cluster_id", "node_name").annotate(n=Sum("gpus"))
    return {(cluster_id, name): gpus for cluster_id, name, gpus in sums}
