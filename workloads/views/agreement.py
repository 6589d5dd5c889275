"""How far the engine and a cluster's scheduler agree: a panel for the cluster's page, the list, a case to keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.models import Cluster
from clusters.presenting import cluster_crumbs
from core.filters import Filter
from core.fragments import render_fragment
from core.saved_views import SavedView
from core.tables import Column, TableSpec, build_table, table_response
from workloads import agreement_tally, agreement_words
from workloads.agreement_file import download_case, file_response
from workloads.agreement_tally import TOPIC
from workloads.models import Agreement, Prediction

STATUS = {Agreement.RIGHT: "ok", Agreement.WRONG: "bad", Agreement.NOT_COMPARABLE: "off", Agreement.OPEN: "wait"}

FILTERS = (
    Filter(key="outcome", label=_("Outcome"), kind="choice", choices=tuple(Agreement.choices)),
    Filter(key="workload", label=_("Workload"), lookup="shown_name"),
    Filter(key="scheduler", label=_("Scheduler"), lookup="version"),
    Filter(key="engine", label=_("Engine"), lookup="engine_version"),
    Filter(key="nodePool", label=_("Node pool"), lookup="node_pool"),
    Filter(key="case", label=_("Has a case"), lookup="has_case", kind="flag"),
    Filter(key="when", label=_("When"), lookup="predicted_at", kind="time"),
)

VIEWS = (
    SavedView(label=_("All")),
    SavedView(label=_("Wrong"), terms=("outcome==wrong",)),
    SavedView(label=_("Right"), terms=("outcome==right",)),
    SavedView(label=_("Not comparable"), terms=("outcome==notComparable",)),
)


def _told(row: Any) -> str:
    return agreement_words.told(row)


def _outcome(row: Any) -> str:
    return str(Agreement(row.outcome).label)


TABLE = TableSpec(
    name="predictions",
    row_template="workloads/predictions.html#row",
    empty_template="workloads/predictions.html#empty",
    columns=(
        Column(key="when", label=_("When"), sort=("predicted_at",), csv=lambda row: row.predicted_at),
        Column(key="outcome", label=_("Outcome"), sort=("outcome_rank", "-predicted_at"), csv=_outcome),
        Column(key="workload", label=_("Workload"), sort=("shown_name",), csv=lambda row: row.shown_name),
        Column(key="expected", label=_("Expected"), csv=lambda row: agreement_words.verdict_word(row.verdict)),
        Column(key="pods", label=_("Pods placed"), sort=("pods_placed",), numeric=True, csv=lambda r: r.pods_placed),
        Column(key="told", label=_("What came of it"), grow=True, csv=_told),
        Column(key="nodePool", label=_("Node pool"), sort=("node_pool",), spare=True, csv=lambda row: row.node_pool),
        Column(key="scheduler", label=_("Scheduler"), sort=("version",), csv=lambda row: row.version),
        Column(key="engine", label=_("Engine"), sort=("engine_version",), spare=True, csv=lambda r: r.engine_version),
        Column(key="case", label=_("Case"), csv=lambda row: row.case_state),
    ),
    default_sort="outcome",
    search=("shown_name", "node_pool"),
    search_label=_("Workload, node pool"),
    filters=FILTERS,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A prediction as its row shows it."""

    prediction: Prediction
    status: str
    word: str
    verdict: str
    told: str
    case_word: str
    case_url: str

    def __getattr__(self, name: str) -> Any:
        """Everything else is the prediction's."""
        return getattr(self.prediction, name)

    def __str__(self) -> str:
        return str(self.prediction)


@require_GET
def cluster_agreement(request: HttpRequest, pk: str) -> HttpResponse:
    """By version of the scheduler: right, wrong, not comparable and why; the last wrong ones."""
    cluster = _cluster(request, pk)
    context = {
        "cluster": cluster,
        "tallies": [_tally(tally) for tally in agreement_tally.tallies(cluster)],
        "wrong": present(agreement_tally.last_wrong(request.user, cluster)),
        "list_url": reverse("workloads:predictions", args=[cluster.pk]),
    }
    return render_fragment(request, "workloads/_agreement.html", context, crumbs=cluster_crumbs(cluster))


@require_GET
def prediction_list(request: HttpRequest, pk: str) -> HttpResponseBase:
    """Every prediction for a cluster, the wrong ones first."""
    cluster = _cluster(request, pk)
    rows = agreement_tally.predictions_of(request.user, cluster)
    table = build_table(request, rows, TABLE, present=present, views=VIEWS)
    context = {"cluster": cluster, "crumbs": cluster_crumbs(cluster), "topic": f"{TOPIC}@{cluster.pk}"}
    return table_response(request, "workloads/predictions.html", table, context)


@require_GET
def prediction_case(request: HttpRequest, pk: str, prediction: str) -> HttpResponse:
    """The case of a wrong prediction, as `scheduling.replay` reads it; the audit notes it."""
    cluster = _cluster(request, pk)
    with transaction.atomic():
        name, content = download_case(actor_of(request), cluster, prediction)
    return file_response(name, content)


def present(rows: Sequence[Prediction]) -> list[Row]:
    """Rows for the template."""
    return [_row(row) for row in rows]


def _row(row: Any) -> Row:
    kept = reverse("workloads:prediction-case", args=[row.cluster_id, row.pk]) if row.has_case else ""
    return Row(
        prediction=row,
        status=STATUS[Agreement(row.outcome)],
        word=_outcome(row),
        verdict=agreement_words.verdict_word(row.verdict),
        told=_told(row),
        case_word=agreement_words.case_word(row.case_state),
        case_url=kept,
    )


def _tally(tally: agreement_tally.Tally) -> dict[str, Any]:
    return {
        "version": agreement_words.scheduler_word(tally.scheduler_version),
        "filter": tally.scheduler_version,
        "right": tally.right,
        "compared": tally.compared,
        "wrong": tally.wrong,
        "open": tally.open,
        "not_comparable": tally.not_comparable,
        "last_at": tally.last_at,
        "reasons": [(agreement_words.reason_word(code), n) for code, n in tally.reasons.most_common()],
    }


def _cluster(request: HttpRequest, pk: str) -> Cluster:
    require(request.user, "cluster:read")
    return Cluster.objects.get_visible(request.user, pk=pk)
