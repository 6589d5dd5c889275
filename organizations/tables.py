"""The lists of departments and projects: columns, filters, sort."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from core.filters import Filter
from core.tables import Column, TableSpec
from core.templatetags.ui import PHASES

_PHASES = tuple((phase, PHASES[phase][2]) for phase in ("Ready", "NotReady", "Creating", "Updating", "Deleting"))


def _deserved(row: Any) -> object:
    return "unlimited" if row.totals.deserved.is_unlimited else row.totals.deserved.amount


def _known(value: object) -> object:
    return "" if value is None else value


_GPUS = (
    Column(key="deserved", label=_("GPUs deserved"), sort=("total_gpu_quota", "name"), numeric=True, csv=_deserved),
    Column(key="held", label=_("Held"), numeric=True, csv=lambda row: _known(row.totals.held)),
    Column(key="asked", label=_("Asked"), numeric=True, csv=lambda row: _known(row.totals.asked)),
)
_FILTERS = (
    Filter(key="name", label=_("Name")),
    Filter(key="phase", label=_("Phase"), kind="choice", choices=_PHASES),
    Filter(key="cluster", label=_("Cluster"), lookup="cluster__name"),
    Filter(key="deserved", label=_("GPUs deserved"), lookup="total_gpu_quota", kind="number"),
)

DEPARTMENTS = TableSpec(
    name="departments",
    row_template="organizations/department_list.html#row",
    topics=("organizations.Department",),
    empty_template="organizations/department_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",), csv=lambda row: row.row.name),
        Column(key="phase", label=_("Phase"), sort=("phase", "name"), csv=lambda row: row.row.phase),
        Column(
            key="cluster", label=_("Cluster"), sort=("cluster__name", "name"), spare=True,
            csv=lambda row: row.row.cluster.name,
        ),
        Column(key="projects", label=_("Projects"), numeric=True, csv=lambda row: row.projects),
        *_GPUS,
        Column(key="description", label=_("Description"), grow=True, csv=lambda row: row.row.description),
    ),
    default_sort="name",
    search=("name", "description"),
    search_label=_("Name, description"),
    filters=_FILTERS,
)  # fmt: skip

PROJECTS = TableSpec(
    name="projects",
    row_template="organizations/project_list.html#row",
    topics=("organizations.Project",),
    empty_template="organizations/project_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",), csv=lambda row: row.row.name),
        Column(key="phase", label=_("Phase"), sort=("phase", "name"), csv=lambda row: row.row.phase),
        Column(
            key="department", label=_("Department"), sort=("department__name", "name"),
            csv=lambda row: row.row.department.name,
        ),
        Column(
            key="cluster", label=_("Cluster"), sort=("cluster__name", "name"), spare=True,
            csv=lambda row: row.row.cluster.name,
        ),
        Column(
            key="namespace", label=_("Namespace"), sort=("namespace",), spare=True,
            csv=lambda row: row.row.namespace,
        ),
        *_GPUS,
        Column(key="why", label=_("Needs attention"), grow=True, csv=lambda row: row.why),
    ),
    default_sort="name",
    search=("name", "namespace", "description", "department__name"),
    search_label=_("Name, namespace, department"),
    filters=(*_FILTERS, Filter(key="department", label=_("Department"), lookup="department__name")),
)  # fmt: skip
