"""The objects of the API that can be waited for: how each is found and shown."""

from typing import Any

from django.urls import URLPattern, path
from rest_framework.request import Request

from accounts.permissions import require
from clusters.api.shapes import ClusterShape
from clusters.api.wire import cluster_json
from clusters.models import Cluster
from controlplane.api_waiting import Finder, WatchView, waiting_view
from core.api.ids import uuid_of
from core.api.shapes import Shape
from core.errors import NotFound
from core.models import DesiredState
from organizations.api.project_views import find_project, shown_project
from organizations.api.shapes import DepartmentShape, ProjectShape
from organizations.api.views import find_department, shown_department
from topology.api.shapes import PoolShape, TopologyShape
from topology.api.views import find_pool, pool_response
from topology.api.wire import topology_detail_json
from topology.selectors.topologies import find_topology
from workloads.api.shapes import WorkloadDetailed
from workloads.api.views import find as find_workload
from workloads.api.wire import workload_detailed

Found = tuple[DesiredState, Any]


def cluster(request: Request, pk: str) -> Found:
    """Of a cluster."""
    require(request.user, "cluster:read")
    row = Cluster.objects.get_visible(request.user, pk=uuid_of(pk))
    return row, cluster_json(row)


def topology(request: Request, pk: str) -> Found:
    """Of a topology of ours: one that was made in the cluster has no state to wait for."""
    require(request.user, "network-topologies:read")
    found = find_topology(request.user, pk)
    if found.row is None:
        raise NotFound
    return found.row, topology_detail_json(found)


def node_pool(request: Request, pk: str) -> Found:
    """Of a node pool."""
    require(request.user, "nodepools:read")
    row = find_pool(request, pk)
    return row, pool_response(row)


def department(request: Request, pk: str) -> Found:
    """Of a department."""
    require(request.user, "department:read")
    row = find_department(request, pk)
    return row, shown_department(row)


def project(request: Request, pk: str) -> Found:
    """Of a project."""
    require(request.user, "project:read")
    row = find_project(request, pk)
    return row, shown_project(row)


def workload(request: Request, pk: str) -> Found:
    """Of a workload."""
    require(request.user, "workloads:read")
    row = find_workload(request, pk)
    return row, workload_detailed(row)


KINDS: dict[str, tuple[str, Finder, type[Shape]]] = {
    "clusters": ("clusters", cluster, ClusterShape),
    "network-topologies": ("network-topologies", topology, TopologyShape),
    "node-pools": ("node-pools", node_pool, PoolShape),
    "departments": ("org-unit/departments", department, DepartmentShape),
    "projects": ("org-unit/projects", project, ProjectShape),
    "workloads": ("workloads", workload, WorkloadDetailed),
}


def urlpatterns() -> list[URLPattern]:
    """`…/{id}/wait` and `…/{id}/watch` of every kind."""
    found = []
    for name, (place, finder, shape) in KINDS.items():
        found.append(path(f"v1/{place}/<str:pk>/wait", waiting_view(finder, shape), name=f"{name}-wait"))
        found.append(path(f"v1/{place}/<str:pk>/watch", WatchView.as_view(finder=finder), name=f"{name}-watch"))
    return found
