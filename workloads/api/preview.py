"""`POST /api/v1/workloads/preview`: where a submission would land; dry runs of a submission answer the same."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from core.api.bodies import check_keys
from core.api.shapes import Encoded
from core.api.views import ApiView
from core.errors import InvalidInput
from organizations.models import Project
from workloads.api import views, wire
from workloads.api.shapes import Submission
from workloads.placement_alternatives import full_preview
from workloads.services import read_draft


class WorkloadPreviewView(ApiView):
    """What the scheduler would make of a submission. GPUs in devices; times in the units that the names say."""

    gives: Mapping[str, Any] = {"post": Encoded}
    takes: Mapping[str, Any] = {"post": Submission}

    def post(self, request: Request) -> Response:
        """Verdict, gangs, nodes, distance, alternatives, queues; the body is that of `POST /api/v2/workloads`."""
        body = self.body()
        check_keys(body, wire.SUBMISSION_KEYS)
        source, metadata = wire.read_source(body), wire.read_metadata(body)
        if source is None:
            raise InvalidInput.of("manifest", "no manifest is given", "manifest or manifestBase64Encoded")
        project = views.project_of(request, metadata, source)
        require(actor_of(request).user, "workloads:create", project.scope)
        return Response(placement_of(request, project, wire.with_metadata(source, metadata)))


def placement_of(request: Request, project: Project, source: str) -> dict[str, Any]:
    """The preview of a document. Raises `InvalidInput` for one that cannot be read."""
    return full_preview(actor_of(request).user, read_draft(project=project, source=source).submission)
