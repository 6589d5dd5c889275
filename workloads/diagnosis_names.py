"""Other people's things in a diagnosis: who may see them gets name and link, all others "another project"."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.permissions import has_right
from clusters.models import Node, Pod
from organizations.fair_share import queue_names
from organizations.models import Project, Quota
from topology.hooks import reads_all_work
from workloads.models import Workload
from workloads.selectors import Person

MOST_NAMED = 12
"""So many names stand in a sentence."""


@dataclass(frozen=True, slots=True)
class Named:
    """A thing as one person may see it."""

    name: str
    url: str = ""
    project: str = ""


class Namer:
    """Names for one person, in one cluster, of the pod groups that a diagnosis speaks of."""

    def __init__(self, user: Person, workload: Workload, keys: Iterable[str]) -> None:
        self.user = user
        self._row, self.cluster = workload.cluster, workload.cluster_id
        self.graph = workload.name
        wanted = {key for key in keys if "/" in key}
        seen = Project.objects.visible_to(user).filter(
            cluster=self.cluster, namespace__in={key.partition("/")[0] for key in wanted}
        )
        self._projects = {project.namespace: project.name for project in seen}
        self._graphs = self._graphs_of(wanted)
        rows = Workload.objects.visible_to(user).filter(cluster=self.cluster, name__in=set(self._graphs.values()))
        self._urls = {
            (row.project.namespace, row.name): reverse("workloads:detail", args=[row.pk])
            for row in rows.select_related("project")
        }
        self._sees_all = reads_all_work(user, workload.cluster_id)
        self.sees_nodes = has_right(user, "nodes:read")
        self._queues: dict[str, Quota] | None = None

    def _graphs_of(self, keys: set[str]) -> dict[str, str]:
        """The graph that a pod group belongs to, by key."""
        if not keys:
            return {}
        spaces, _slashes, names = zip(*(key.partition("/") for key in keys), strict=True)
        rows = Pod.objects.filter(cluster=self.cluster, namespace__in=set(spaces), pod_group__in=set(names))
        found = rows.exclude(graph="").values_list("namespace", "pod_group", "graph").distinct()
        graphs = {f"{namespace}/{group}": graph for namespace, group, graph in found}
        return {key: graph for key, graph in graphs.items() if key in keys}

    def group(self, key: str) -> Named:
        """A pod group: its workload's name, or the group's own where it has none."""
        namespace, _slash, name = key.partition("/")
        project = self._projects.get(namespace)
        if project is None:  # none of Muster's, or none that this person may see
            return Named(name, "", namespace) if self._sees_all else Named(_("another project"))
        graph = self._graphs.get(key, "")
        return Named(graph or name, self._urls.get((namespace, graph), ""), project)

    def groups(self, keys: Sequence[str], total: int = 0) -> str:
        """Several, each name once; those that may not be seen are counted, and so are those of `total` that are not
        named here."""
        named = [self.group(key) for key in keys]
        shown = list(dict.fromkeys(each.name for each in named if each.project))
        hidden = sum(not each.project for each in named)
        more = max(total - len(keys), 0) + len(shown[MOST_NAMED:])
        shown = shown[:MOST_NAMED]
        if hidden:
            shown.append(_("%(n)d of other projects") % {"n": hidden} if hidden > 1 else _("another project"))
        text = ", ".join(shown)
        return _("%(names)s and %(n)d more") % {"names": text, "n": more} if more else text

    def queues(self, names: Sequence[str]) -> str:
        """Several queues by name, without those of others that may not be seen."""
        known = queue_names(self.user, self._row, names)
        shown = [name for name in names if known[name].text]
        if len(shown) < len(names):
            shown.append(_("others that you may not see"))
        return ", ".join(shown)

    def node(self, name: str) -> Named:
        """A node; nameless where nodes may not be seen."""
        return Named(name) if self.sees_nodes else Named(_("a node"))

    def queue_url(self, name: str) -> str:
        """The page on which a queue's quota is edited, for those who may."""
        if self._queues is None:
            rows = Quota.objects.filter(cluster=self.cluster).select_related("project", "department")
            self._queues = {row.queue_name: row for row in rows}
        row = self._queues.get(name)
        if row is None:
            return ""
        if row.project is not None:
            allowed = has_right(self.user, "project:update", row.project.scope)
            return reverse("organizations:project-edit", args=[row.project.pk]) if allowed else ""
        allowed = row.department is not None and has_right(self.user, "department:update", row.department.scope)
        return reverse("organizations:department-edit", args=[row.department_id]) if allowed else ""

    def node_url(self, name: str) -> str:
        """The page of a node."""
        if not self.sees_nodes:
            return ""
        row = Node.objects.visible_to(self.user).filter(cluster=self.cluster, name=name).only("pk").first()
        return reverse("clusters:node-detail", args=[row.pk]) if row else ""


def keys_in(names: Mapping[str, str]) -> list[str]:
    """The pod groups that a cause or act names."""
    return [key for key in names.get("groups", "").split(", ") if key]
