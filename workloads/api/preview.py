"""`POST /api/v1/workloads/preview`: where a submission would land; dry runs of a submission answer the same."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from core.api.views import ApiView
from workloads.api.placement_shapes import PlacementPreview
from workloads.api.shapes import SubmissionGiven
from workloads.api.views import placement_of, read_submission


class WorkloadPreviewView(ApiView):
    """What the scheduler would make of a submission. GPUs in devices; times in the units that the names say."""

    gives: Mapping[str, Any] = {"post": PlacementPreview}
    takes: Mapping[str, Any] = {"post": SubmissionGiven}
    asks_only = True

    def post(self, request: Request) -> Response:
        """Verdict, gangs, nodes, distance, alternatives, queues; the body is that of `POST /api/v2/workloads`."""
        project, source, _stopped = read_submission(request, self.body())
        require(actor_of(request).user, "workloads:create", project.scope)
        return Response(placement_of(request, project, source))
