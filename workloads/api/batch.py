"""`/api/v1/workloads/batch`: one act on up to 100 workloads, each succeeding or failing for itself."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit import Actor, record_refusal
from accounts.requests import actor_of
from core.api.ids import uuid_of
from core.api.views import ApiView
from core.errors import InvalidInput, MusterError
from workloads import selectors, services
from workloads.api.shapes import MAX_IDS, WorkloadBatch, WorkloadBatchAnswer
from workloads.models import Workload


def _suspend(actor: Actor, workload: Workload) -> object:
    return services.suspend_workload(actor, workload=workload)


def _resume(actor: Actor, workload: Workload) -> object:
    return services.resume_workload(actor, workload=workload)


def _delete(actor: Actor, workload: Workload) -> object:
    return services.delete_workload(actor, workload=workload)


ACTIONS: dict[str, Callable[[Actor, Workload], object]] = {"delete": _delete, "suspend": _suspend, "resume": _resume}


class WorkloadBatchView(ApiView):
    """Delete, suspend or resume several."""

    gives: Mapping[str, Any] = {"post": WorkloadBatchAnswer}
    takes: Mapping[str, Any] = {"post": WorkloadBatch}

    def post(self, request: Request) -> Response:
        """`{ids, action}` → `{id, succeeded, failed}`."""
        body = self.body()
        ids, action = body.get("ids"), body.get("action")
        if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_IDS or not all(isinstance(i, str) for i in ids):
            raise InvalidInput.of("ids", "It is not a list of ids", f"1 to {MAX_IDS} ids")
        if not isinstance(action, str) or action not in ACTIONS:
            raise InvalidInput.of("action", f"{str(action)[:20]!r} is not an action", ", ".join(ACTIONS))
        return Response(self.write(lambda: act_on_all(request, ids, action)))


def act_on_all(request: Request, ids: list[str], action: str) -> dict[str, Any]:
    """Schema BatchResponse."""
    actor, succeeded, failed = actor_of(request), list[str](), list[dict[str, Any]]()
    for text in dict.fromkeys(ids):
        workload: Workload | None = None
        try:
            workload = selectors.workload_of(request.user, uuid_of(text))
            with transaction.atomic():
                ACTIONS[action](actor, workload)
        except MusterError as error:
            record_refusal(actor, action, error, workload)
            failed.append({"id": text, "code": error.code, "message": error.message})
        else:
            succeeded.append(text)
    return {"id": str(uuid.uuid4()), "succeeded": succeeded, "failed": failed}
