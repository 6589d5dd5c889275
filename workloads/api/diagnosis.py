"""`GET /api/v1/workloads/{id}/diagnosis`: why it waits, and what would let it run."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.api.views import ApiView
from workloads.api.diagnosis_shapes import DiagnosisShape
from workloads.api.views import find
from workloads.diagnosis_telling import told_to


class WorkloadDiagnosisView(ApiView):
    """Causes with evidence, remedies that the engine tried, what is ruled out. Amounts: GPUs, millicores, bytes."""

    gives: Mapping[str, Any] = {"get": DiagnosisShape}

    def get(self, request: Request, workload_id: str) -> Response:
        """The diagnosis; `state` unknown where the cluster is not heard."""
        return Response(told_to(request.user, find(request, workload_id)))
