"""`…/departments/telemetry` and `…/projects/telemetry`: quota and what the queues said is used, as of now.

GPUs in devices, CPU in millicores, memory in MB. Unlimited quota and usage that is not known have no value.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import Cluster
from core.api.csv_rendering import RENDERERS
from core.api.ids import number_of, uuid_of
from core.api.shapes import Telemetry
from core.api.telemetry import UNKNOWN_FILTER, Fact, Group, read_telemetry, telemetry_json, telemetry_parameters
from core.api.views import ApiView
from organizations.models import Department, Project, Quota
from organizations.quota import UNLIMITED
from organizations.quota_rows import used

_RESOURCES = {"GPU": "gpu", "CPU": "cpu", "MEMORY": "memory"}
_KINDS = {"ALLOCATION": "allocated", "ALLOCATION_NON_PREEMPTIBLE": "allocatedNonPreemptible"}
TYPES = tuple(f"{resource}_{kind}" for kind in ("QUOTA", *_KINDS) for resource in _RESOURCES)


class DepartmentTelemetryView(ApiView):
    """One figure over departments."""

    gives: Mapping[str, Any] = {"get": Telemetry}

    renderer_classes = RENDERERS
    errors = UNKNOWN_FILTER
    parameters = telemetry_parameters(TYPES, ("CLUSTER_ID",), "clusterId", "nodepoolName", "departmentId")

    def get(self, request: Request) -> Response:
        """By `telemetryType`, grouped by CLUSTER_ID; `clusterId`, `nodepoolName`, `departmentId`."""
        require(request.user, "department:read")
        asked, params = read_telemetry(request, TYPES, ("CLUSTER_ID",)), request.query_params
        rows = _in_cluster(request, Department.objects.visible_to(request.user))
        if "departmentId" in params:
            rows = rows.filter(pk=number_of(params["departmentId"]))
        quotas = Quota.objects.filter(department__in=rows.values("pk")).select_related("cluster", "node_pool")
        if "nodepoolName" in params:
            quotas = quotas.filter(node_pool__name=params["nodepoolName"])
        facts = (Fact({"CLUSTER_ID": _cluster(quota)}, amount(quota, asked.type)) for quota in quotas)
        return Response(telemetry_json(asked, facts))


class ProjectTelemetryView(ApiView):
    """One figure over projects."""

    gives: Mapping[str, Any] = {"get": Telemetry}

    renderer_classes = RENDERERS
    errors = UNKNOWN_FILTER
    parameters = telemetry_parameters(
        TYPES, ("ClusterId", "NodepoolId", "ParentId"), "clusterId", "nodepoolId", "departmentId"
    )

    def get(self, request: Request) -> Response:
        """By `telemetryType`, grouped by ClusterId, NodepoolId, ParentId; `clusterId`, `nodepoolId`, `departmentId`."""
        require(request.user, "project:read")
        asked = read_telemetry(request, TYPES, ("ClusterId", "NodepoolId", "ParentId"))
        params, rows = request.query_params, _in_cluster(request, Project.objects.visible_to(request.user))
        if "departmentId" in params:
            rows = rows.filter(department=number_of(params["departmentId"]))
        quotas = Quota.objects.filter(project__in=rows.values("pk"))
        if "nodepoolId" in params:
            quotas = quotas.filter(node_pool=number_of(params["nodepoolId"]))
        found = quotas.select_related("cluster", "node_pool", "project__department")
        return Response(telemetry_json(asked, _project_facts(found, asked.type)))


def amount(quota: Quota, type_: str) -> Decimal | None:
    """What the type says of one queue; None: unlimited, or not known."""
    resource, _underscore, kind = type_.partition("_")
    name = _RESOURCES[resource]
    if kind == "QUOTA":
        deserved: Decimal = getattr(quota, f"{name}_deserved")
        return None if deserved == UNLIMITED else deserved
    return used(quota, _KINDS[kind]).get(name)


def _project_facts(quotas: Any, type_: str) -> Iterator[Fact]:
    for quota in quotas:
        department = quota.project.department
        groups = {
            "ClusterId": _cluster(quota),
            "NodepoolId": Group(str(quota.node_pool_id), quota.node_pool.name),
            "ParentId": Group(str(department.pk), department.name),
        }
        yield Fact(groups, amount(quota, type_))


def _in_cluster(request: Request, rows: Any) -> Any:
    given = request.query_params.get("clusterId")
    if given is None:
        return rows
    return rows.filter(cluster=Cluster.objects.get_visible(request.user, pk=uuid_of(given)))


def _cluster(quota: Quota) -> Group:
    return Group(str(quota.cluster_id), quota.cluster.name)
