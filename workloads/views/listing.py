"""The list of workloads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from accounts.permissions import has_right, require
from clusters.presenting import stale_sentences
from clusters.selectors import chosen_cluster, stale_clusters
from core.filters import Filter
from core.saved_views import SavedView
from core.tables import Column, TableSpec, build_table, table_response
from core.templatetags.ui import PHASES
from workloads import cluster_graphs, selectors
from workloads.models import Workload
from workloads.views import labels
from workloads.words import place_word, reason_sentence, reason_short

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TRT-LLM"}
SHOWN_PHASES = (
    "Failed",
    "Degraded",
    "Pending",
    "Creating",
    "Initializing",
    "Running",
    "Stopping",
    "Stopped",
    "Deleting",
)
PHASE_CHOICES = tuple((phase, PHASES[phase][2]) for phase in SHOWN_PHASES)

FILTERS = (
    Filter(key="name", label=_("Name")),
    Filter(key="phase", label=_("Phase"), kind="choice", choices=PHASE_CHOICES),
    Filter(key="project", label=_("Project"), lookup="project__name"),
    Filter(key="department", label=_("Department"), lookup="project__department__name"),
    Filter(key="cluster", label=_("Cluster"), lookup="cluster__name"),
    Filter(key="nodePool", label=_("Node pool"), lookup="node_pool__name"),
    Filter(key="engine", label=_("Engine"), lookup="backend", kind="choice", choices=tuple(labels.ENGINES.items())),
    Filter(key="disaggregated", label=_("Disaggregated"), kind="flag"),
    Filter(key="asked", label=_("GPUs asked"), lookup="gpus_requested", kind="number"),
    Filter(key="held", label=_("GPUs held"), lookup="gpus_held", kind="number"),
    Filter(key="submittedBy", label=_("Submitted by"), lookup="submitted_by"),
    Filter(key="since", label=_("Waiting since"), lookup="waiting_since", kind="time"),
)

VIEWS = (
    SavedView(label=_("All")),
    SavedView(label=_("Waiting"), terms=("phase==Pending",)),
    SavedView(label=_("Running"), terms=("phase==Running",)),
    SavedView(label=_("Degraded"), terms=("phase==Degraded",)),
    SavedView(label=_("Failed"), terms=("phase==Failed",)),
    SavedView(label=_("Stopped"), terms=("phase==Stopped",)),
)

TABLE = TableSpec(
    name="workloads",
    row_template="workloads/list.html#row",
    empty_template="workloads/list.html#empty",
    bulk_template="workloads/list.html#bulk",
    topics=("workloads.Workload",),
    columns=(
        Column(key="name", label=_("Name"), sort=("name", "project__namespace")),
        Column(key="phase", label=_("Phase"), sort=("phase_rank", "name")),
        Column(key="project", label=_("Project"), sort=("project__name",), csv=labels.project_name),
        Column(key="type", label=_("Type"), sort=("disaggregated", "backend"), csv=labels.kind_of),
        Column(key="asked", label=_("Asked"), sort=("gpus_requested",), numeric=True, csv=labels.asked),
        Column(key="held", label=_("Held"), sort=("gpus_held",), numeric=True, csv=labels.held),
        Column(
            key="roles",
            label=_("Ready by role"),
            hint=_("F frontend, P prefill, D decode, W worker"),
            csv=labels.roles_words,
        ),
        Column(key="placement", label=_("Placement"), csv=labels.placement_words),
        Column(key="why", label=_("Why"), grow=True, csv=labels.why_words),
        Column(key="since", label=_("For"), sort=("waiting_since",), numeric=True, csv=labels.since),
    ),
    default_sort="phase",
    search=("name", "project__name", "project__department__name", "submitted_by"),
    search_label=_("Name, project, owner"),
    filters=FILTERS,
)


@dataclass(frozen=True, slots=True)
class RoleView:
    """A role in a row: its letter, and how far it is."""

    letter: str
    name: str
    ready: int
    desired: int


@dataclass(frozen=True, slots=True)
class Row:
    """A workload as its row shows it."""

    workload: Workload
    kind: str
    engine: str
    roles: tuple[RoleView, ...]
    placement: dict[str, Any]
    place: str
    why: str
    sentence: str

    def __getattr__(self, name: str) -> Any:
        """Everything else is the workload's."""
        return getattr(self.workload, name)

    def __str__(self) -> str:
        return self.workload.name


@require_GET
def workload_list(request: HttpRequest) -> HttpResponseBase:
    """Every workload that the viewer may see."""
    require(request.user, "workloads:read")
    cluster = chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = selectors.workloads_of(request.user)
    rows = rows.filter(cluster=cluster) if cluster else rows
    spec = TABLE if has_right(request.user, "workloads:update") else replace(TABLE, bulk_template="")
    table = build_table(request, rows, spec, present=present, views=VIEWS)
    stale = stale_clusters(request.user, cluster, "pods", "podgroups")
    found = cluster_graphs.found_in(cluster_graphs.readable_clusters(request.user, cluster))
    context = {
        "may_submit": has_right(request.user, "workloads:create"),
        "stale": stale_sentences(stale),
        "faults": [labels.fault_item(*fault) for fault in found.faults],
        "foreign": found.graphs,
    }
    return table_response(request, "workloads/list.html", table, context)


def present(workloads: Sequence[Workload]) -> list[Row]:
    """Rows for the template."""
    return [row_of(workload) for workload in workloads]


def row_of(workload: Workload) -> Row:
    """One row."""
    reason = workload.waiting_reason or {}
    return Row(
        workload=workload,
        kind=labels.kind_of(workload),
        engine=labels.ENGINES.get(workload.backend, workload.backend),
        roles=tuple(
            RoleView(role["type"][:1].upper() or "W", role["component"], role["ready"], role["desired"])
            for role in workload.roles
        ),
        placement=workload.placement or {},
        place=place_word(workload.required_level or workload.preferred_level),
        why=reason_short(reason),
        sentence=reason_sentence(reason),
    )
