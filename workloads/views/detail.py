"""One workload: overview, logs, events, YAML."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import has_right
from accounts.tables import SOURCES
from clusters.kept import kept
from clusters.live import read_log
from clusters.models import ClusterEvent
from clusters.presenting import stale_sentences
from clusters.selectors import observed_version, watch_state
from core.conditions import last_repair
from core.errors import NotFound
from core.templatetags.quantities import number
from topology.selectors import node_facts
from workloads import observed, selectors
from workloads.document import dump
from workloads.drawing import Drawing, draw, own_gpus, without
from workloads.graph import parse_graph
from workloads.models import DesiredPhase, Workload
from workloads.reconcile.preview import rendered_manifest
from workloads.reconcile.status import asked_of
from workloads.told_events import told_events
from workloads.verdicts import is_noise
from workloads.views.diagnosis import why_context
from workloads.views.labels import ENGINES, kind_of
from workloads.words import condition_view, is_permanent, place_word, reason_sentence, reason_short

MAX_EVENTS = 200
MAX_PODS = 200
PODS_A_PAGE = 50
LOG_LINES = 500


@require_GET
def workload_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """Its gang, where it stands or why it waits, and its conditions."""
    workload = selectors.workload_of(request.user, pk)
    pods = Paginator(observed.pods_of(workload), PODS_A_PAGE).get_page(request.GET.get("pods"))
    reason = workload.waiting_reason or {}
    context = {
        **head(request, workload, "overview"),
        "gang": gang(workload),
        "reason": reason,
        "sentence": reason_sentence(reason),
        "permanent": is_permanent(reason),
        **why_context(request.user, workload),
        "conditions": [condition_view(condition) for condition in workload.conditions],
        "pods": pods,
        "pod_count": pods.paginator.count,
        "drawing": drawing(request.user, workload),
        "other_topology": other_topology(workload),
        "events": history(request.user, workload, 50)[:8],
    }
    return render(request, "workloads/detail.html", context)


@require_GET
def workload_logs(request: HttpRequest, pk: str) -> HttpResponse:
    """The last lines of one pod's log, read from the cluster now."""
    workload = selectors.workload_of(request.user, pk)
    pods = list(observed.pods_of(workload))
    chosen = request.GET.get("pod") or (pods[0].name if pods else "")
    pod = next((pod for pod in pods if chosen in (pod.name, pod.uid)), None)
    if chosen and pod is None:
        raise NotFound(_("The workload has no pod of this name."))
    text, failure = read_log(pod, LOG_LINES) if pod and pod.node_name else ("", "")
    context = {"pods": pods[:MAX_PODS], "pod": pod, "text": text, "failure": failure, "lines": LOG_LINES}
    return render(request, "workloads/logs.html", {**head(request, workload, "logs"), **context})


@require_GET
def workload_events(request: HttpRequest, pk: str) -> HttpResponse:
    """What the cluster reported about it, and what Muster put right."""
    workload = selectors.workload_of(request.user, pk)
    context = {**head(request, workload, "events"), "events": history(request.user, workload, MAX_EVENTS)}
    return render(request, "workloads/events.html", context)


@require_GET
def workload_yaml(request: HttpRequest, pk: str) -> HttpResponse:
    """The document as submitted, what Muster applies, and what the cluster has."""
    workload = selectors.workload_of(request.user, pk)
    applied = rendered_manifest(workload)
    actual = observed.graph_of(workload)
    context = {
        "source": workload.source,
        "applied": dump(applied) if applied else "",
        "actual": dump(actual) if actual else None,
        "differences": differences(applied, actual) if applied and actual else (),
    }
    return render(request, "workloads/yaml.html", {**head(request, workload, "yaml"), **context})


def head(request: HttpRequest, workload: Workload, tab: str) -> dict[str, Any]:
    """What every page of a workload shows above its tabs."""
    state = watch_state(workload.cluster, "pods", "podgroups")
    return {
        "stale": stale_sentences([(workload.cluster, state)] if state.stale else []),
        "workload": workload,
        "heading": workload.name,
        "crumbs": (
            {"label": _("Workloads"), "url": reverse("workloads:list")},
            {"label": workload.project.department.name, "url": ""},
            {"label": workload.project.name, "url": ""},
        ),
        "why": reason_short(workload.waiting_reason or {}),
        "facts": facts(workload),
        "tabs": tabs(workload, tab),
        "topics": f"workloads.Workload.{workload.pk}",
        "suspended": workload.desired_phase == DesiredPhase.STOPPED,
        "may_create": has_right(request.user, "workloads:create"),
        "may_update": has_right(request.user, "workloads:update", workload.scope) and not workload.is_being_deleted,
        "menu": menu(request, workload),
    }


def facts(workload: Workload) -> list[dict[str, Any]]:
    """The line of facts under the title."""
    level = workload.required_level or workload.preferred_level
    kind = _("required: one %(place)s") if workload.required_level else _("preferred: one %(place)s")
    return [
        {
            "label": _("GPUs"),
            "value": number(workload.gpus_held),
            "of": _("of %(asked)s") % {"asked": number(workload.gpus_requested)},
        },
        {
            "label": _("Placement"),
            "value": kind % {"place": place_word(level)} if level else "–",
            "note": workload.topology_name,
        },
        {"label": _("Project, pool"), "value": workload.project.name, "note": workload.node_pool.name},
        {
            "label": _("Engine"),
            "value": ENGINES.get(workload.backend, workload.backend) or "–",
            "note": kind_of(workload).lower(),
        },
        {
            "label": _("Priority"),
            "value": workload.priority_class or "–",
            "note": workload.get_preemptibility_display(),
        },
        {
            "label": _("Submitted by"),
            "value": workload.submitted_by or "–",
            "note": dict(SOURCES).get(workload.submitted_through, workload.submitted_through),
        },
    ]


def tabs(workload: Workload, current: str) -> list[dict[str, Any]]:
    """Parts of the page."""
    return [
        {"label": label, "url": reverse(f"workloads:{name}", args=[workload.pk]), "current": key == current}
        for key, label, name in (
            ("overview", _("Overview"), "detail"),
            ("logs", _("Logs"), "logs"),
            ("events", _("Events"), "events"),
            ("yaml", _("YAML"), "yaml"),
        )
    ]


def menu(request: HttpRequest, workload: Workload) -> list[dict[str, Any]]:
    """Acts that are not the page's main ones."""
    items: list[dict[str, Any]] = []
    if has_right(request.user, "workloads:update", workload.scope) and not workload.is_being_deleted:
        items.append(
            {
                "label": _("Edit…"),
                "icon": "pencil",
                "url": reverse("workloads:edit", args=[workload.pk]),
                "shortcut": "e",
            }
        )
    if has_right(request.user, "workloads:delete", workload.scope):
        url = reverse("workloads:delete", args=[workload.pk])
        items.append({"label": _("Delete…"), "icon": "trash-2", "url": url, "danger": True, "dialog": True})
    return items


def gang(workload: Workload) -> dict[str, Any]:
    """The table of roles (components/gang.html): what is wanted, and how far it is."""
    graph = parse_graph(workload.manifest)
    found = {role["component"]: role for role in workload.roles}
    roles: list[dict[str, Any]] = [
        {
            "name": component.name,
            "replicas": component.pods,
            "gpus_each": float(component.gpus_each),
            "placed": found.get(component.name, {}).get("placed", 0),
            "ready": found.get(component.name, {}).get("ready", 0),
        }
        for component in graph.components
    ]
    total = {key: sum(role[key] for role in roles) for key in ("placed", "ready")}
    pods, least = graph.pods, sum(component.gang_pods for component in graph.components)
    note = _("all %(n)d pods or none") if least == pods else _("at least %(least)d of %(n)d pods, or none")
    return {
        "roles": roles,
        "total": {**total, "pods": pods, "gpus": workload.gpus_requested},
        "note": note % {"n": pods, "least": least},
    }


def other_topology(workload: Workload) -> str:
    """What is to be said where the node pool has another topology than the one in which it asks for a place."""
    pool = workload.node_pool.network_topology
    names = {"topology": workload.topology_name, "poolTopology": pool.name if pool else ""}
    if pool is not None and not workload.topology_name:
        return _("It asks for no placement; the node pool has topology %(poolTopology)s.") % names
    if names["topology"] == names["poolTopology"]:
        return ""
    level = workload.required_level or workload.preferred_level
    names["place"] = place_word(level) if level else _("domain")
    if pool is None:
        return _("It asks for one %(place)s of topology %(topology)s; the node pool has no topology now.") % names
    return _("It asks for one %(place)s of topology %(topology)s; the node pool now has %(poolTopology)s.") % names


def drawing(user: selectors.Person, workload: Workload) -> Drawing | None:
    """The pool in the topology in which it asks for a place, with its pods on it; None without one. Of a large cluster
    it is kept until a node or pod changes."""
    graph = parse_graph(workload.manifest)
    levels = asked_of(workload, graph).levels
    if not levels:
        return None
    roles = [component.name for component in graph.components if component.gpus_each]
    key = ("workload drawn", workload.pk, workload.generation, levels, get_language())
    return kept(key, observed_version(user, workload.cluster), lambda: _drawn(workload, levels, roles))


def _drawn(workload: Workload, levels: Sequence[str], roles: Sequence[str]) -> Drawing | None:
    own = own_gpus(observed.pod_facts(observed.pods_of(workload)))
    facts = without(node_facts(workload.cluster_id, pool=workload.node_pool.name), own)
    return draw(levels, facts, own, roles, (workload.placement or {}).get("domains", ()))


def history(user: selectors.Person, workload: Workload, most: int) -> list[dict[str, Any]]:
    """Its last `most` events, as `user` may read them, and the last repair of drift, newest first."""
    told = timeline(told_events(user, workload, observed.events_of(workload)[:most]))
    if repair := last_repair(workload.conditions):
        view = condition_view(repair)
        at = view.since or workload.updated_at
        told.append({"at": at, "status": view.status, "text": view.text, "source": "Muster", "count": 1})
    return sorted(told, key=lambda entry: entry["at"], reverse=True)


def timeline(events: Sequence[ClusterEvent]) -> list[dict[str, Any]]:
    """Events as components/timeline.html shows them, without the podgrouper's noise; what is said alike of several
    objects is said once, in the words of the newest."""
    told: dict[tuple[str, str], list[ClusterEvent]] = {}
    for event in events:
        if not is_noise(event.reason, event.message):
            alike = event.message if event.type == "Warning" or event.reason == "Unschedulable" else event.source
            told.setdefault((event.reason, alike), []).append(event)
    return [_told(same) for same in told.values()]


def _told(same: Sequence[ClusterEvent]) -> dict[str, Any]:
    event = same[0]
    name = f"{event.involved_kind}/{event.involved_name}"
    others = len({other.involved_name for other in same}) - 1
    if others:
        name = ngettext("%(name)s and %(n)d other", "%(name)s and %(n)d others", others) % {"name": name, "n": others}
    return {
        "at": event.last_seen_at,
        "status": "wait" if event.type == "Warning" else "info",
        "text": f"{event.reason}: {event.message}" if event.message else event.reason,
        "source": event.source,
        "count": max(other.count for other in same),
        "object": name,
    }


def differences(applied: Mapping[str, Any], actual: Mapping[str, Any], path: str = "") -> list[dict[str, Any]]:
    """Fields that we apply and the cluster has otherwise."""
    found: list[dict[str, Any]] = []
    for key, value in applied.items():
        field, other = f"{path}.{key}" if path else key, actual.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            found += differences(value, other, field)
        elif value != other:
            found.append({"path": field, "applied": _text(value), "actual": _text(other), "owner": ""})
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)[:200]
