"""Resource types, actions and the predefined roles: Run:ai's (runai.md §6), as one table. Pure.

A right is `resource:action`. What Muster has no page or path for yet can be given already, so that roles that were
written for Run:ai keep their meaning.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

ACTIONS = ("create", "read", "update", "delete")

# Run:ai's groups of resource types (OpenAPI, schema `ResourceType`), in its order.
RESOURCE_GROUPS: dict[str, tuple[str, ...]] = {
    "organization": ("department", "project", "tenant"),
    "physical-resource": ("cluster", "cluster-config", "nodepools", "nodes", "network-topologies"),
    "iam": (
        "settings", "security-settings", "branding-settings", "users", "apps", "service-account", "roles",
        "access_rules", "events-history", "access-keys",
    ),
    "dashboard": ("dashboards-overview", "dashboards-analytics", "dashboards-consumption"),
    "workload": ("jobs", "workloads", "workspaces", "trainings", "inferences", "workload-properties", "policies"),
    "workload-asset": (
        "environments", "pvc-assets", "git-assets", "host-path-assets", "nfs-assets", "s3-assets", "compute-resources",
        "templates", "credentials", "cm-volume-assets", "datavolumes", "secret-volume-assets",
        "storage-class-configuration", "registries", "scrapeable-metrics",
    ),
}  # fmt: skip
GROUP_LABELS: dict[str, Text] = {
    "organization": _("Organisation"),
    "physical-resource": _("Resources"),
    "iam": _("Administration"),
    "dashboard": _("Insight"),
    "workload": _("Workloads"),
    "workload-asset": _("Assets of workloads"),
}
GROUP_OF = {resource: group for group, resources in RESOURCE_GROUPS.items() for resource in resources}
RESOURCES = tuple(GROUP_OF)
RIGHTS = frozenset(f"{resource}:{action}" for resource in RESOURCES for action in ACTIONS)

_DATA_SOURCES = (
    "pvc-assets", "git-assets", "host-path-assets", "nfs-assets", "s3-assets", "cm-volume-assets",
    "secret-volume-assets",
)  # fmt: skip
_ASSETS = ("environments", *_DATA_SOURCES, "compute-resources", "templates", "credentials", "datavolumes")


def _rights(resources: Iterable[str], actions: Iterable[str] = ACTIONS) -> frozenset[str]:
    return frozenset(f"{resource}:{action}" for resource in resources for action in actions)


_READ_ALL = _rights(
    (
        "cluster", "nodes", "nodepools", "network-topologies", "department", "project", "workloads",
        "dashboards-overview", "dashboards-analytics", "workload-properties",
    ),
    ["read"],
)  # fmt: skip
_READ_ASSETS = _rights(set(_ASSETS) - {"credentials"}, ["read"])

ADMINISTRATOR = "System administrator"
DEPARTMENT_ADMINISTRATOR = "Department administrator"
RESEARCHER = "L1 researcher"
VIEWER = "Viewer"


@dataclass(frozen=True, slots=True)
class PredefinedRole:
    """A role that is always there. `number` is its id on the wire; it never changes and is never used again."""

    number: int
    name: str
    label: Text
    description: Text
    rights: frozenset[str]


PREDEFINED: tuple[PredefinedRole, ...] = (
    PredefinedRole(1, ADMINISTRATOR, _("System administrator"), _("Everything."), RIGHTS),
    PredefinedRole(
        2,
        DEPARTMENT_ADMINISTRATOR,
        _("Department administrator"),
        _("Projects, workloads, assets and access rules of a department, and its quota."),
        _READ_ALL
        | _rights(("project", "workloads", "access_rules", *_ASSETS))
        | _rights(("department",), ["update"])
        | _rights(("events-history", "roles", "dashboards-consumption"), ["read"]),
    ),
    PredefinedRole(
        3,
        "Department viewer",
        _("Department viewer"),
        _("Sees a department, its projects and its consumption; changes nothing."),
        _READ_ALL | _READ_ASSETS | _rights(("dashboards-consumption",), ["read"]),
    ),
    PredefinedRole(
        4,
        "Editor",
        _("Editor"),
        _("Sees pages and dashboards, manages departments and projects."),
        _READ_ALL | _READ_ASSETS | _rights(("department", "project")),
    ),
    PredefinedRole(
        5, VIEWER, _("Viewer"), _("Sees everything in its scope but people and secrets; changes nothing."), _READ_ALL
    ),
    PredefinedRole(
        6,
        "Research manager",
        _("Research manager"),
        _("Manages projects and assets; sees workloads and dashboards."),
        _READ_ALL | _rights(("project", *_ASSETS)),
    ),
    PredefinedRole(
        7,
        RESEARCHER,
        _("Researcher"),
        _("Submits and changes workloads and their credentials."),
        _READ_ALL | _rights(("workloads", "credentials")),
    ),
    PredefinedRole(
        8,
        "L2 researcher",
        _("Researcher without credentials"),
        _("Submits and changes workloads with the credentials that are there."),
        _READ_ALL | _rights(("workloads",)) | _rights(("credentials",), ["read"]),
    ),
    PredefinedRole(
        9,
        "ML engineer",
        _("ML engineer"),
        _("Serves models: submits, scales and removes workloads."),
        _READ_ALL | _READ_ASSETS | _rights(("workloads", "inferences")) | _rights(("credentials",), ["read"]),
    ),
    *(
        PredefinedRole(
            number, name, label, _("Manages its kind of asset, sees the rest."),
            _READ_ALL | _READ_ASSETS | _rights(resources),
        )
        for number, name, label, resources in (
            (10, "Environment administrator", _("Environment administrator"), ("environments",)),
            (11, "Data source administrator", _("Data source administrator"), _DATA_SOURCES),
            (12, "Data volume administrator", _("Data volume administrator"), ("datavolumes",)),
            (13, "Compute resource administrator", _("Compute resource administrator"), ("compute-resources",)),
            (14, "Template administrator", _("Template administrator"), ("templates",)),
            (15, "Credentials administrator", _("Credentials administrator"), ("credentials",)),
        )
    ),
)  # fmt: skip

# Ids of roles that administrators made follow those of the predefined ones, which stay below.
CUSTOM_ROLES_FROM = 1000
BY_NAME = {role.name: role for role in PREDEFINED}
ROLES: dict[str, frozenset[str]] = {role.name: role.rights for role in PREDEFINED}
ROLE_LABELS: dict[str, Text] = {role.name: role.label for role in PREDEFINED}
