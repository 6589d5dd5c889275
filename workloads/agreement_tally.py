"""How often the engine was right in a cluster, and the predictions behind it: reads for pages, the API and previews."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import BooleanField, Case, CharField, Count, F, IntegerField, Max, Q, QuerySet, Value, When

from accounts.models import User
from accounts.permissions import reach
from clusters.models import Cluster
from workloads.models import Agreement, Prediction

UNKNOWN = "unknown"
LAST_WRONG = 5
TOPIC = Prediction._meta.label


@dataclass(slots=True)
class Tally:
    """The outcomes under one version of the scheduler. `reasons`: why so many are not comparable, by code."""

    scheduler_version: str
    right: int = 0
    wrong: int = 0
    not_comparable: int = 0
    open: int = 0
    last_at: datetime | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def compared(self) -> int:
        """How many count in the agreement."""
        return self.right + self.wrong


def scheduler_version(cluster: Cluster) -> str:
    """The version of KAI that was found in a cluster; "" where it was not."""
    return next((entry.get("version") or "" for entry in cluster.components if entry["key"] == "kai-scheduler"), "")


def tallies(cluster: Cluster) -> list[Tally]:
    """One for each version, the last one used first. 1 query."""
    found: dict[str, Tally] = {}
    rows = Prediction.objects.filter(cluster=cluster).order_by()
    columns = ("scheduler_version", "outcome", "reasons")
    for version, outcome, reasons, count, last in rows.values_list(*columns).annotate(Count("pk"), Max("predicted_at")):
        tally = found.setdefault(version, Tally(version or UNKNOWN))
        tally.last_at = max(tally.last_at or last, last)
        _add(tally, outcome, count)
        if outcome == Agreement.NOT_COMPARABLE:
            tally.reasons[str((reasons or [""])[0]).partition(":")[0]] += count
    return sorted(found.values(), key=lambda tally: str(tally.last_at), reverse=True)


def present_tally(cluster: Cluster) -> Tally:
    """That of the scheduler's present version, without reasons; nothing compared is a tally of zeros. 1 query."""
    version = scheduler_version(cluster)
    tally = Tally(version or UNKNOWN)
    rows = Prediction.objects.filter(cluster=cluster, scheduler_version=version).order_by()
    for outcome, count in rows.values_list("outcome").annotate(Count("pk")):
        _add(tally, outcome, count)
    return tally


def agreement_json(cluster: Cluster) -> dict[str, Any]:
    """What a preview says of itself: right in `right` of `compared`, under the scheduler's present version."""
    tally = present_tally(cluster)
    return {
        "schedulerVersion": tally.scheduler_version,
        "right": tally.right,
        "compared": tally.compared,
        "notComparable": tally.not_comparable,
    }


def predictions_of(user: User | AnonymousUser, cluster: Cluster) -> "QuerySet[Prediction]":
    """A cluster's predictions as lists show them, without what is compressed. Who may not read the workload reads no
    name (`shown_name` ""), and finds none by it."""
    where = reach(user, "workloads:read")
    may_read = Q(cluster__in=where.clusters) | Q(project__department__in=where.departments)
    may_read |= Q(project__in=where.projects)
    named = F("workload_name")
    shown = named if where.everywhere else Case(When(may_read, then=named), default=Value(""), output_field=CharField())
    version = Case(When(scheduler_version="", then=Value(UNKNOWN)), default=F("scheduler_version"))
    has_case = Case(When(case_state="kept", then=Value(True)), default=Value(False), output_field=BooleanField())
    ranks = (Agreement.WRONG, Agreement.NOT_COMPARABLE, Agreement.OPEN, Agreement.RIGHT)
    rank = Case(*(When(outcome=each, then=Value(i)) for i, each in enumerate(ranks)), output_field=IntegerField())
    rows = Prediction.objects.visible_to(user).filter(cluster=cluster).defer("evidence", "case")
    return rows.annotate(shown_name=shown, version=version, has_case=has_case, outcome_rank=rank)


def last_wrong(user: User | AnonymousUser, cluster: Cluster) -> Sequence[Prediction]:
    """The newest ones that were wrong. 1 query."""
    rows = predictions_of(user, cluster).filter(outcome=Agreement.WRONG)
    return list(rows.order_by("-predicted_at", "-pk")[:LAST_WRONG])


def _add(tally: Tally, outcome: str, count: int) -> None:
    name = {Agreement.RIGHT: "right", Agreement.WRONG: "wrong", Agreement.OPEN: "open"}.get(
        Agreement(outcome), "not_comparable"
    )
    setattr(tally, name, getattr(tally, name) + count)
