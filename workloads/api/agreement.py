"""`/api/v1/clusters/{id}/scheduler-agreement`: how far the engine and the cluster's scheduler agree, and where not."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.models import Cluster
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, search, sort
from core.api.ids import uuid_of
from core.api.listing import list_parameters
from core.api.pagination import paginate
from core.api.views import ApiView
from core.filters import Filter
from core.moments import rfc3339
from scheduling.version import engine_version
from workloads import agreement_tally, agreement_words
from workloads.agreement_file import download_case, file_response
from workloads.api.agreement_shapes import PredictionList, PredictionShape, SchedulerAgreement
from workloads.models import Agreement, Prediction

FILTERS = (
    Filter(key="outcome", label="outcome", kind="choice", choices=tuple(Agreement.choices)),
    Filter(key="workloadName", label="workloadName", lookup="shown_name"),
    Filter(key="schedulerVersion", label="schedulerVersion", lookup="version"),
    Filter(key="engineVersion", label="engineVersion", lookup="engine_version"),
    Filter(key="nodePool", label="nodePool", lookup="node_pool"),
    Filter(key="hasCase", label="hasCase", lookup="has_case", kind="flag"),
    Filter(key="predictedAt", label="predictedAt", lookup="predicted_at", kind="time"),
)
SORTS = {
    "predictedAt": "predicted_at",
    "outcome": "outcome_rank",
    "workloadName": "shown_name",
    "schedulerVersion": "version",
    "engineVersion": "engine_version",
    "nodePool": "node_pool",
}


class SchedulerAgreementView(ApiView):
    """Right and wrong count; what is not comparable is a number of its own."""

    gives: Mapping[str, Any] = {"get": SchedulerAgreement}

    def get(self, request: Request, cluster_id: str) -> Response:
        """`{clusterUuid, engineVersion, versions}`, one entry for each version of the scheduler, the last one first."""
        cluster = _cluster(request, cluster_id)
        return Response(
            {
                "clusterUuid": str(cluster.pk),
                "engineVersion": engine_version(),
                "versions": [tally_json(tally) for tally in agreement_tally.tallies(cluster)],
            }
        )


class PredictionListView(ApiView):
    """What the engine said of each start of a workload, and what came of it."""

    parameters = list_parameters(FILTERS, SORTS)
    gives: Mapping[str, Any] = {"get": PredictionList}

    renderer_classes = RENDERERS

    def get(self, request: Request, cluster_id: str) -> Response:
        """`{predictions, next}`. Names of workloads that one may not read are empty."""
        rows = search(request, filter_by(request, _rows(request, cluster_id), FILTERS), ("shown_name", "node_pool"))
        found, following = paginate(request, sort(request, rows, SORTS, default="predictedAt"))
        body: dict[str, Any] = {"predictions": [prediction_json(row) for row in found]}
        return Response(body if following is None else {**body, "next": following})


class PredictionView(ApiView):
    """One of them."""

    gives: Mapping[str, Any] = {"get": PredictionShape}

    def get(self, request: Request, cluster_id: str, prediction_id: str) -> Response:
        """The prediction."""
        rows: Any = _rows(request, cluster_id)
        return Response(prediction_json(rows.get_visible(request.user, pk=uuid_of(prediction_id))))


class PredictionCaseView(ApiView):
    """The redacted case of a wrong prediction."""

    answers: Mapping[Any, Any] = {(200, "application/gzip"): OpenApiTypes.BINARY}

    def get(self, request: Request, cluster_id: str, prediction_id: str) -> HttpResponse:
        """A gzipped line for `python -m scheduling.replay`; 404 where none is kept. The audit notes the download."""
        cluster = _cluster(request, cluster_id)
        with transaction.atomic():
            found = download_case(actor_of(request), cluster, str(uuid_of(prediction_id)))
        return file_response(*found)


def tally_json(tally: agreement_tally.Tally) -> dict[str, Any]:
    """The outcomes under one version of the scheduler."""
    return {
        "schedulerVersion": tally.scheduler_version,
        "right": tally.right,
        "wrong": tally.wrong,
        "compared": tally.compared,
        "notComparable": tally.not_comparable,
        "open": tally.open,
        "lastPredictedAt": rfc3339(tally.last_at),
        "reasons": [{"code": code, "count": count} for code, count in tally.reasons.most_common()],
    }


def prediction_json(row: Any) -> dict[str, Any]:
    """One prediction; `caseState` is kept, tooLarge, dropped, notReplayable or "" where there is none to keep."""
    return {
        "id": str(row.pk),
        "clusterUuid": str(row.cluster_id),
        "workloadName": row.shown_name,
        "workloadId": str(row.workload_id) if row.shown_name and row.workload_id else None,
        "nodePool": row.node_pool,
        "schedulerVersion": row.version,
        "engineVersion": row.engine_version,
        "predictedAt": rfc3339(row.predicted_at),
        "decidedAt": rfc3339(row.decided_at),
        "ageSeconds": row.age_seconds,
        "shardDigest": row.shard_digest,
        "verdict": row.verdict or None,
        "pods": row.pods,
        "podsExpected": row.pods_expected,
        "podsPlaced": row.pods_placed,
        "equalAnswers": row.equal_answers,
        "outcome": row.outcome,
        "reasons": row.reasons,
        "message": agreement_words.told(row),
        "caseState": row.case_state,
    }


def _rows(request: Request, cluster_id: str) -> "QuerySet[Prediction]":
    cluster = _cluster(request, cluster_id)
    return agreement_tally.predictions_of(actor_of(request).user, cluster)


def _cluster(request: Request, cluster_id: str) -> Cluster:
    require(request.user, "cluster:read")
    return Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id))
