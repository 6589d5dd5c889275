"""`…/metrics` of clusters, node pools, nodes, departments, projects, workloads and pods: what is recorded of GPUs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import Cluster, Node, Pod
from clusters.names import DEFAULT_NODE_POOL
from core.api.csv_rendering import RENDERERS
from core.api.ids import number_of, uuid_of
from core.api.views import ApiView
from core.errors import NotFound
from metrics import selectors
from metrics.api import types
from metrics.api.query import Line, Query, Value, answer, metric_parameters, read_query
from metrics.api.shapes import Measurements
from metrics.frames import Layout
from metrics.selectors import Series
from metrics.series import Indices, Moment, node_positions, owned_by, positions, summary, together
from organizations.models import Department, Project
from topology.models import NodePool
from workloads.models import Workload

Where = Callable[[Moment], Indices | None]
CATEGORY = "Deploy"  # of every workload
GROUPS = ("Category", "Nodepool", "Project", "Department")
POOL = OpenApiParameter("nodepoolName", OpenApiTypes.STR)
# What each recorded type says of a set of GPUs.
_FIGURES: Mapping[str, Callable[[Any], float | None]] = {
    types.UTILISATION: lambda found: found.average,
    types.TOTAL: lambda found: found.gpus,
    types.ALLOCATED: lambda found: found.held,
    types.ALLOCATION: lambda found: found.held,
    types.UNALLOCATED: lambda found: found.gpus - found.held,
}


class MetricsView(ApiView):
    """A view of metrics: JSON or CSV."""

    gives: Mapping[str, Any] = {"get": Measurements}
    other_successes: Mapping[str, Any] = {"get": (207,)}

    renderer_classes = RENDERERS


class ClusterMetricsView(MetricsView):
    """A cluster's GPUs."""

    parameters = metric_parameters(types.CLUSTER, OpenApiParameter("groupBy", OpenApiTypes.STR, enum=GROUPS), POOL)

    def get(self, request: Request, cluster_id: str) -> Response:
        """Over time; `groupBy` Category, Nodepool, Project or Department, of what one may see; `nodepoolName`."""
        require(request.user, "cluster:read")
        cluster = Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id))
        asked = read_query(request, types.CLUSTER)
        by, pool = request.query_params.get("groupBy"), request.query_params.get("nodepoolName")
        recorded = Recorded.of(cluster, asked, owners=True)
        if by is not None:
            return answer(asked, grouped(request, cluster, recorded, by))
        inside = positions(recorded.layout, pool_nodes(cluster, pool)) if pool is not None else None
        return answer(asked, recorded.lines(_always(inside)))


class NodePoolMetricsView(MetricsView):
    """The GPUs of a node pool."""

    parameters = metric_parameters(types.CLUSTER)

    def get(self, request: Request, cluster_id: str, pool_name: str) -> Response:
        """Over time."""
        require(request.user, "nodepools:read")
        pools = NodePool.objects.select_related("cluster")
        pool = pools.get_visible(request.user, cluster_id=uuid_of(cluster_id), name=pool_name.replace("\x00", ""))
        asked = read_query(request, types.CLUSTER)
        recorded = Recorded.of(pool.cluster, asked, owners=False)
        inside = positions(recorded.layout, pool_nodes(pool.cluster, pool.name))
        return answer(asked, recorded.lines(_always(inside)))


class NodeMetricsView(MetricsView):
    """A node's GPUs."""

    parameters = metric_parameters(types.NODE)

    def get(self, request: Request, node_id: str) -> Response:
        """`GPU_UTILIZATION_PER_GPU` and `GPU_UTILIZATION`, in percent."""
        require(request.user, "nodes:read")
        rows = Node.objects.select_related("cluster")
        node = rows.get_visible(request.user, uid=node_id.replace("\x00", ""))
        asked = read_query(request, types.NODE)
        return answer(asked, device_lines(selectors.node_series(node, asked.hours)))


class OrgUnitMetricsView(MetricsView):
    """The GPUs that the workloads of a department or project hold."""

    parameters = metric_parameters(types.ORG_UNIT, POOL)
    model: type[Department] | type[Project] = Project

    def get(self, request: Request, unit_id: str) -> Response:
        """`GPU_ALLOCATION` over time; `nodepoolName`. Quota is known for now only: see `…/telemetry`."""
        name = self.model._meta.model_name
        require(request.user, f"{name}:read")
        rows: Any = self.model._default_manager.select_related("cluster")
        unit = rows.get_visible(request.user, pk=number_of(unit_id))
        asked = read_query(request, types.ORG_UNIT)
        own = {"project": unit.pk} if name == "project" else {"project__department": unit.pk}
        keys = [str(pk) for pk in Workload.objects.filter(**own).values_list("pk", flat=True)]
        recorded = Recorded.of(unit.cluster, asked, owners=True)
        pool = request.query_params.get("nodepoolName")
        inside = positions(recorded.layout, pool_nodes(unit.cluster, pool)) if pool is not None else None
        return answer(asked, recorded.lines(_owned(keys, inside)))


class WorkloadMetricsView(MetricsView):
    """A workload's GPUs."""

    parameters = metric_parameters(types.WORKLOAD)

    def get(self, request: Request, workload_id: str) -> Response:
        """`GPU_UTILIZATION` (average in percent over the GPUs that it holds) and `GPU_ALLOCATION` (how many)."""
        require(request.user, "workloads:read")
        asked_of = Workload.objects.select_related("cluster", "project")
        workload = asked_of.get_visible(request.user, pk=uuid_of(workload_id))
        asked = read_query(request, types.WORKLOAD)
        recorded = Recorded.of(workload.cluster, asked, owners=True)
        return answer(asked, recorded.lines(_owned([str(workload.pk)])))


class PodMetricsView(MetricsView):
    """A pod's GPUs, where it is known which they are: it is the workload's only pod with GPUs on its node."""

    parameters = metric_parameters(types.POD)

    def get(self, request: Request, workload_id: str, pod_id: str) -> Response:
        """`GPU_UTILIZATION` over the GPUs that it holds."""
        require(request.user, "workloads:read")
        workloads = Workload.objects.select_related("cluster", "project")
        workload = workloads.get_visible(request.user, pk=uuid_of(workload_id))
        own = Pod.objects.filter(cluster=workload.cluster_id, workload=str(workload.pk))
        pod = own.filter(uid=str(uuid_of(pod_id))).first()
        if pod is None:
            raise NotFound
        asked = read_query(request, types.POD)
        beside = own.filter(node_name=pod.node_name, gpus__gt=0).exclude(pk=pod.pk)
        if not pod.node_name or not pod.gpus or beside.exists():
            return answer(asked, [])
        recorded = Recorded.of(workload.cluster, asked, owners=True)
        inside = positions(recorded.layout, [pod.node_name])
        return answer(asked, recorded.lines(_owned([str(workload.pk)], inside)))


@dataclass(frozen=True, slots=True)
class Recorded:
    """The frames that a question reads. Without any there is nothing to say, which is not 0."""

    asked: Query
    layout: Layout
    moments: Sequence[Moment]

    @classmethod
    def of(cls, cluster: Cluster, asked: Query, *, owners: bool) -> "Recorded":
        layout = selectors.layout_of(cluster)
        return cls(
            asked, layout, selectors.history(cluster, layout, asked.hours, owners=owners) if layout.nodes else []
        )

    def lines(self, where: Where, groups: Mapping[str, str] | None = None) -> Iterator[Line]:
        """The recorded types that are asked for, over the GPUs at `where` of each moment."""
        summaries = [(moment.at, summary(moment, where(moment))) for moment in self.moments]
        for type_ in self.asked.types if self.moments else ():
            if type_ in _FIGURES:
                values: list[Value] = [(at, _FIGURES[type_](found)) for at, found in summaries]
                yield Line(type_, values, groups=groups or {})
            elif type_ == types.NODES:
                yield Line(type_, [(m.at, self._nodes(m, where(m))) for m in self.moments], groups=groups or {})

    def _nodes(self, moment: Moment, inside: Indices | None) -> int:
        places = moment.present.nonzero()[0] if inside is None else inside[moment.present[inside] > 0]
        return len({int(place) // self.layout.slots for place in places})


def grouped(request: Request, cluster: Cluster, recorded: Recorded, by: str) -> Iterator[Line]:
    """The same by group; only groups that the asker may see."""
    if by == "Nodepool":
        places = node_positions(recorded.layout)
        for name in NodePool.objects.visible_to(request.user).filter(cluster=cluster).values_list("name", flat=True):
            yield from recorded.lines(_always(together(places, pool_nodes(cluster, name))), {by: name})
        return
    owners: dict[str, list[str]] = {}
    rows = Workload.objects.visible_to(request.user).filter(cluster=cluster).select_related("project__department")
    for row in rows:
        key = {"Project": row.project.name, "Department": row.project.department.name}.get(by, CATEGORY)
        owners.setdefault(key, []).append(str(row.pk))
    for name, keys in sorted(owners.items()):
        yield from recorded.lines(_owned(keys), {by: name})


def _always(found: Indices | None) -> Where:
    return lambda moment: found


def _owned(keys: Sequence[str], inside: Indices | None = None) -> Where:
    """The GPUs of these workloads, of those that are `inside`."""
    if inside is None:
        return lambda moment: owned_by(moment, keys)
    return lambda moment: np.intersect1d(owned_by(moment, keys), inside)


def pool_nodes(cluster: Cluster, name: str) -> list[str]:
    """Names of the nodes of a pool."""
    label = "" if name == DEFAULT_NODE_POOL else name.replace("\x00", "")
    return list(Node.objects.filter(cluster=cluster, node_pool=label).values_list("name", flat=True))


def device_lines(lines: Sequence[Series]) -> list[Line]:
    """A line per GPU, and their average at each moment."""
    each = [Line(types.UTILISATION_PER_GPU, [(p.at, p.average) for p in s.points], {"gpu": s.name}) for s in lines]
    mean: list[Value] = []
    for moments in zip(*(line.points for line in lines), strict=True):
        known = [p.average for p in moments if p.average is not None]
        mean.append((moments[0].at, sum(known) / len(known) if known else None))
    return [*each, Line(types.UTILISATION, mean)] if lines else []
