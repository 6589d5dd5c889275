"""Resource types and actions of rights in the viewer's language; their names on the wire are in `accounts.roles`."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.roles import ACTIONS, Text

ACTION_LABELS: Mapping[str, Text] = {
    "create": pgettext_lazy("right", "create"),
    "read": pgettext_lazy("right", "read"),
    "update": pgettext_lazy("right", "update"),
    "delete": pgettext_lazy("right", "delete"),
}
RESOURCE_LABELS: Mapping[str, Text] = {
    "department": _("Departments"),
    "project": _("Projects"),
    "tenant": _("Tenant"),
    "cluster": _("Clusters"),
    "cluster-config": _("Configuration of clusters"),
    "nodepools": _("Node pools"),
    "nodes": _("Nodes"),
    "network-topologies": _("Network topologies"),
    "settings": _("Settings"),
    "security-settings": _("Security settings"),
    "branding-settings": _("Branding settings"),
    "users": _("Users"),
    "apps": _("Applications"),
    "service-account": _("Service accounts"),
    "roles": _("Roles"),
    "access_rules": _("Access rules"),
    "events-history": _("Audit log"),
    "access-keys": _("Access keys"),
    "dashboards-overview": _("Dashboard: overview"),
    "dashboards-analytics": _("Dashboard: analytics"),
    "dashboards-consumption": _("Dashboard: consumption"),
    "jobs": _("Jobs"),
    "workloads": _("Workloads"),
    "workspaces": _("Workspaces"),
    "trainings": _("Trainings"),
    "inferences": _("Inferences"),
    "workload-properties": _("Properties of workloads"),
    "policies": _("Policies"),
    "environments": _("Environments"),
    "pvc-assets": _("Data sources: PVC"),
    "git-assets": _("Data sources: Git"),
    "host-path-assets": _("Data sources: host path"),
    "nfs-assets": _("Data sources: NFS"),
    "s3-assets": _("Data sources: S3"),
    "compute-resources": _("Compute resources"),
    "templates": _("Templates"),
    "credentials": _("Credentials"),
    "cm-volume-assets": _("Data sources: ConfigMap"),
    "datavolumes": _("Data volumes"),
    "secret-volume-assets": _("Data sources: secret"),
    "storage-class-configuration": _("Configuration of storage classes"),
    "registries": _("Registries"),
    "scrapeable-metrics": _("Scrapeable metrics"),
}


def action_labels() -> list[Text]:
    """The heads of a table of rights, in the order of `ACTIONS`."""
    return [ACTION_LABELS[action] for action in ACTIONS]
