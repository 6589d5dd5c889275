"""Consumption reports: GPU hours held and their average utilisation over a time, as CSV, from the recorded frames."""

import csv
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.models import User
from accounts.permissions import Scope, reach, require
from accounts.services.taking import unless_taken
from clusters.models import Cluster
from core.errors import Fault, InvalidInput
from core.readable import unreadable
from metrics.frames import UNMEASURED, Layout, unpack_bytes, unpack_owners
from metrics.models import MetricFrame, Report
from metrics.recording import KEEP, ROLLUP, STEP
from metrics.selectors import layout_of
from workloads.models import Workload

RIGHT = "dashboards-analytics:read"
GROUPS = ("Nodepool", "Project", "Department", "Cluster")
FILTERS = ("projectName", "departmentName", "clusterId")
HEAD = ("group", "cluster", "allocatedGpuHours", "averageGpuUtilizationPercent")
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class ReportInput:
    """What is asked for. `filters`: pairs of one of `FILTERS` and a value, all of which must hold."""

    name: str
    start: datetime
    end: datetime
    group_by: str = ""
    filters: tuple[tuple[str, str], ...] = ()


def visible_reports(user: User) -> QuerySet[Report]:
    """One's own; all of them for who may read the whole installation."""
    rows = Report.objects.order_by("name", "pk")
    return rows if reach(user, RIGHT).everywhere else rows.filter(created_by=user.email)


@transaction.atomic
def create_report(actor: Actor, *, given: ReportInput) -> Report:
    """Write a report of what the actor may see. Raises `InvalidInput`; `Conflict` where they have one of this name:
    those of others are none of their business."""
    require(actor.user, RIGHT)
    faults = _faults(given)
    if faults:
        raise InvalidInput(faults)
    report = Report(
        id=uuid.uuid4(),
        name=given.name,
        start=given.start,
        end=given.end,
        group_by=given.group_by,
        filters=[f"{key}=={value}" for key, value in given.filters],
        content=_csv(actor.user, given),
        created_by=actor.user.email,
    )
    with unless_taken(_("Resource with this name already exists")):
        report.save(force_insert=True)
    audit.record(actor, "create", report, after={"name": given.name})
    return report


def require_deletion(user: User, report: Report) -> None:
    """One's own may be deleted; another's takes the right to delete on the whole installation."""
    require(user, RIGHT)
    if report.created_by != user.email:
        require(user, "dashboards-analytics:delete", Scope())


@transaction.atomic
def delete_report(actor: Actor, *, report: Report) -> None:
    """Delete a report."""
    require_deletion(actor.user, report)
    audit.record(actor, "delete", report, before={"name": report.name})
    report.delete()


def _faults(given: ReportInput) -> list[Fault]:
    faults = unreadable("name", given.name)
    if not 1 <= len(given.name) <= LONGEST_NAME:
        faults.append(Fault("name", _("The name is empty or too long"), f"1 to {LONGEST_NAME}"))
    if given.start >= given.end:
        faults.append(Fault("end", _("It is not after start"), _("a later time")))
    if given.group_by not in ("", *GROUPS):
        faults.append(Fault("groupBy", _("There is no such group"), ", ".join(GROUPS)))
    faults += [
        Fault("filterBy", _("There is no such field"), ", ".join(FILTERS))
        for key, _value in given.filters
        if key not in FILTERS
    ]
    return faults


def _csv(user: User, given: ReportInput) -> str:
    text = StringIO()
    lines = csv.writer(text)
    lines.writerow(HEAD)
    wanted = dict(given.filters)
    for cluster in Cluster.objects.visible_to(user).order_by("name"):
        if wanted.get("clusterId", str(cluster.pk)) == str(cluster.pk):
            lines.writerows(_rows(user, cluster, given))
    return text.getvalue()


def _rows(user: User, cluster: Cluster, given: ReportInput) -> Iterator[Sequence[Any]]:
    layout, groups = layout_of(cluster), _groups(user, cluster, given)
    hours: dict[str, float] = defaultdict(float)
    loads: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for frame in _frames(cluster, given):
        for group, share, load, measured in _shares(frame, layout, groups):
            hours[group] += share * frame.step / 3600
            loads[group][0] += load
            loads[group][1] += measured
    for group in sorted(hours):
        load, measured = loads[group]
        yield (group, cluster.name, f"{hours[group]:.2f}", f"{load / measured:.1f}" if measured else "")


def _frames(cluster: Cluster, given: ReportInput) -> Iterable[MetricFrame]:
    """Minutes while they are kept since the start, else roll-ups."""
    step = STEP if given.start >= timezone.now() - KEEP[STEP] else ROLLUP
    span = Q(at__gte=given.start) & Q(at__lt=given.end)
    return MetricFrame.objects.filter(span, cluster=cluster, step=step).order_by("at").iterator(chunk_size=50)


def _groups(user: User, cluster: Cluster, given: ReportInput) -> Mapping[str, str]:
    """The group of each visible workload that the filters want."""
    wanted = dict(given.filters)
    rows = Workload.objects.visible_to(user).filter(cluster=cluster).select_related("project__department", "node_pool")
    if "projectName" in wanted:
        rows = rows.filter(project__name=wanted["projectName"])
    if "departmentName" in wanted:
        rows = rows.filter(project__department__name=wanted["departmentName"])
    return {str(row.pk): _group(row, given.group_by) for row in rows.select_related("cluster")}


def _group(row: Workload, by: str) -> str:
    match by:
        case "Project":
            return row.project.name
        case "Department":
            return row.project.department.name
        case "Nodepool":
            return row.node_pool.name
        case "Cluster":
            return row.cluster.name
        case _:
            return "all"


def _shares(frame: MetricFrame, layout: Layout, groups: Mapping[str, str]) -> Iterator[tuple[str, float, float, float]]:
    """Of one frame per workload: its group, GPUs held, the sum of their utilisation, and how many were measured."""
    owner = unpack_owners(bytes(frame.owner), layout.size)
    utilisation = unpack_bytes(bytes(frame.utilisation), layout.size)
    for index, key in enumerate(frame.owners):
        if key in groups:
            own = utilisation[owner == index + 1]
            known = own[own != UNMEASURED]
            yield groups[key], float(len(own)), float(known.sum()), float(len(known))
