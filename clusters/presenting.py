"""Turns clusters into what their templates draw: sentences, facts, panels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from accounts.permissions import has_right
from clusters.components import BY_KEY, Component
from clusters.models import Cluster, Removal
from clusters.removal import is_used, meanings
from clusters.selectors import WatchState
from clusters.wording import component_text, condition_text
from core.errors import Blocker

Text = str | Promise

HEALTH_PHASE = {"healthy": "Healthy", "degraded": "Degraded", "missing": "Missing", "unknown": "Unknown"}


@dataclass(frozen=True, slots=True)
class Stale:
    """A sentence about a cluster whose rows are not current."""

    cluster: Cluster
    text: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ComponentView:
    """A component as its panel shows it."""

    component: Component
    phase: str
    version: str
    message: str
    since: datetime | None
    parts: Sequence[dict[str, Any]]


def stale_sentences(states: Iterable[tuple[Cluster, WatchState]]) -> list[Stale]:
    """What to say above rows that are not current."""
    return [Stale(cluster, _stale_text(cluster, state), state.since) for cluster, state in states]


def component_views(cluster: Cluster) -> list[ComponentView]:
    """The components of a cluster; before the first look at it all are unknown."""
    found = {entry["key"]: entry for entry in cluster.components}
    views = []
    for key, component in BY_KEY.items():
        entry = found.get(key, {})
        views.append(
            ComponentView(
                component,
                HEALTH_PHASE[entry.get("health", "unknown")],
                entry.get("version", ""),
                component_text(component, entry) if entry else _("Not looked for yet."),
                parse_datetime(entry.get("since") or ""),
                [part | {"phase": HEALTH_PHASE[part["health"]]} for part in entry.get("parts", ())],
            )
        )
    return views


def condition_views(conditions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions of ours as components/conditions.html takes them."""
    status = {"True": "ok", "False": "bad", "Unknown": "wait"}
    return [
        {
            "status": status.get(condition["status"], "wait"),
            "type": condition["type"],
            "text": condition_text(condition),
            "since": parse_datetime(condition.get("lastTransitionTime") or ""),
        }
        for condition in conditions
    ]


def cluster_crumbs(cluster: Cluster | None = None) -> list[dict[str, str]]:
    """Where a page about a cluster is."""
    crumbs = [{"label": _("Clusters"), "url": reverse("clusters:cluster-list")}]
    if cluster is not None:
        crumbs.append({"label": cluster.name, "url": reverse("clusters:cluster-detail", args=[cluster.pk])})
    return crumbs


def cluster_facts(cluster: Cluster, nodes: int | None) -> list[dict[str, Any]]:
    """The facts in a cluster's head; `nodes` is None where they were never read."""
    shown = _("not known") if nodes is None else nodes
    return [
        {"label": _("API server"), "value": cluster.server},
        {"label": _("Kubernetes"), "value": cluster.kubernetes_version or _("not known")},
        {"label": _("Nodes"), "value": shown, "url": f"{reverse('clusters:node-list')}?cluster={cluster.pk}"},
        {"label": _("Id"), "value": str(cluster.pk)},
    ]


def stream_views(cluster: Cluster) -> list[dict[str, Any]]:
    """How current each observed kind is, by name."""
    views = []
    for kind, state in sorted(cluster.streams.items()):
        error = state.get("error", "")
        missing = not state.get("served", True)
        views.append(
            {
                "kind": kind,
                "phase": "Missing" if missing else "Failed" if error else "Healthy",
                "heard": parse_datetime(state.get("eventAt") or ""),
                "listed": parse_datetime(state.get("listedAt") or ""),
                "message": _("The cluster does not serve this kind.") if missing else error,
            }
        )
    return views


def cluster_menu(user: User | AnonymousUser, cluster: Cluster) -> list[dict[str, Any]]:
    """The actions on a cluster that its viewer has a right to."""
    items: list[dict[str, Any]] = []
    if has_right(user, "cluster:update", cluster.scope):
        url = reverse("clusters:cluster-credential", args=[cluster.pk])
        items.append({"label": _("Change credential…"), "icon": "key-round", "url": url})
        url = reverse("cluster-adopt", args=[cluster.pk])
        items.append({"label": _("Objects of others…"), "icon": "download", "url": url})
    if has_right(user, "cluster:delete", cluster.scope):
        url = reverse("clusters:cluster-remove", args=[cluster.pk])
        items.append({"label": _("Remove cluster…"), "icon": "trash-2", "url": url, "danger": True, "dialog": True})
    return items


# What can be defined on a cluster, by the name of its kind.
_DEFINED: Mapping[str, Text] = {
    "network topology": gettext_lazy("network topology %(name)s"),
    "node pool": gettext_lazy("node pool %(name)s"),
    "department": gettext_lazy("department %(name)s"),
    "project": gettext_lazy("project %(name)s"),
    "workload": gettext_lazy("workload %(name)s"),
}


def named(blocker: Blocker) -> str:
    """What stands in the way, in the viewer's language: "node pool training"."""
    sentence = _DEFINED.get(blocker.kind)
    return str(sentence) % {"name": blocker.name} if sentence else f"{blocker.kind} {blocker.name}"


def removal_context(cluster: Cluster, blockers: Sequence[Blocker]) -> dict[str, Any]:
    """What the page that asks before a removal needs; ways to choose from where something is defined on the cluster."""
    ways = [
        {"value": way.value, "label": way.label, "meanings": meanings(cluster, way.value)}
        for way in Removal
        if blockers or is_used(cluster)
    ]
    return {
        "cluster": cluster,
        "blockers": list(map(named, blockers)),
        "ways": ways,
        "back_url": reverse("clusters:cluster-detail", args=[cluster.pk]),
    }


def observed_topics(user: User | AnonymousUser, cluster: Cluster | None, *models: str) -> list[str]:
    """Live topics of observed rows: of one cluster, or of all that the viewer sees (at most 20)."""
    visible = [cluster.pk] if cluster else Cluster.objects.visible_to(user).values_list("pk", flat=True)[:20]
    return [f"clusters.{model}@{pk}" for pk in visible for model in models]


def _stale_text(cluster: Cluster, state: WatchState) -> str:
    if state.reason == "NoWatcher":
        return _("%(cluster)s is not watched at the moment: what you see is from the time it was last heard.") % {
            "cluster": cluster.name
        }
    if state.reason == "NothingHeard":
        return _("%(cluster)s has not been heard for a while: what you see may be old.") % {"cluster": cluster.name}
    kinds = ", ".join(kind for kind, _why in state.failed)
    return _("%(cluster)s cannot be read (%(kinds)s): %(reason)s. What you see may be old.") % {
        "cluster": cluster.name,
        "kinds": kinds,
        "reason": state.reason.rstrip("."),
    }
