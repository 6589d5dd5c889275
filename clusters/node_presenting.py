"""Turns nodes and their GPUs into what templates draw: strips, cells, findings."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.gpu_map import CODES, Cell, Group, MapNode, cells_of
from clusters.gpus import GpuStrip, NodeGpus, node_gpus
from clusters.models import ClusterEvent, Node
from core.figures import pct
from core.templatetags.quantities import number
from core.times import nearest_moment

TO_LOOK_AT = 8
NODE_CELLS = 128
# A device plugin that restarts once changes the counts twice.
UNSTABLE_CHANGES = 3
UNSTABLE_MINUTES = 15


def gpu_tiles(strip: GpuStrip) -> list[dict[str, Any]]:
    """The GPU strip: total = allocated + free + cordoned + unhealthy."""
    nodes = ngettext("on %(n)s node", "on %(n)s nodes", strip.nodes) % {"n": number(strip.nodes)}
    over = _("%(n)s more allocated than there are") % {"n": number(strip.over)} if strip.over else ""
    if strip.uncounted:
        over = ", ".join(filter(None, (over, uncounted_words(strip.uncounted))))
    tiles: list[dict[str, Any]] = [
        {"label": _("GPUs"), "value": strip.total, "sub": nodes if strip.known else ""},
        {"label": _("Allocated"), "value": strip.allocated, "state": "allocated", "sub": over},
        {"label": _("Free"), "value": strip.free, "state": "free"},
        {"label": _("Cordoned"), "value": strip.cordoned, "state": "cordoned"},
        {"label": _("Unhealthy"), "value": strip.unhealthy, "state": "unhealthy"},
    ]
    return tiles if strip.known else [{**tile, "value": None} for tile in tiles]


def uncounted_words(pods: int) -> str:
    """What is said of pods whose part of a GPU is not known."""
    return ngettext("%(n)s pod with GPU memory not counted", "%(n)s pods with GPU memory not counted", pods) % {
        "n": number(pods)
    }


def node_condition_views(node: Node) -> list[dict[str, Any]]:
    """Conditions of a Kubernetes node: Ready should be True, every other one False."""
    views = []
    for condition in node.conditions:
        good = "True" if condition["type"] == "Ready" else "False"
        status = "ok" if condition["status"] == good else "wait" if condition["status"] == "Unknown" else "bad"
        text = condition.get("message") or condition.get("reason") or condition["status"]
        since = nearest_moment(condition.get("last_transition_time") or condition.get("lastTransitionTime"))
        views.append({"status": status, "type": condition["type"], "text": text, "since": since})
    return views


def node_problems(node: Node, uncounted: int = 0) -> list[dict[str, Any]]:
    """What somebody should look at on a node, as findings. `uncounted`: pods whose part of a GPU is not known."""
    findings: list[dict[str, Any]] = []
    if uncounted:
        text = ngettext(
            "%(n)d pod asks for GPU memory, and the memory of the GPUs is not known: what it holds is not counted.",
            "%(n)d pods ask for GPU memory, and the memory of the GPUs is not known: what they hold is not counted.",
            uncounted,
        )
        findings.append({"status": "wait", "text": text % {"n": uncounted}})
    if node.gpu_allocatable is None and node.gpu_capacity:
        text = _("None of its %(n)d GPUs can be allocated: the device plugin does not report them any more.")
        findings.append({"status": "bad", "text": text % {"n": node.gpu_capacity}})
    elif node.gpu_allocatable is not None and node.gpu_allocatable < node.gpu_capacity:
        lost = node.gpu_capacity - node.gpu_allocatable
        text = ngettext(
            "%(lost)d of %(total)d GPUs is unhealthy; %(usable)d can be used.",
            "%(lost)d of %(total)d GPUs are unhealthy; %(usable)d can be used.",
            lost,
        )
        numbers = {"lost": lost, "total": node.gpu_capacity, "usable": node.gpu_allocatable}
        findings.append({"status": "bad", "text": text % numbers})
    changes = recent_gpu_changes(node)
    if changes >= UNSTABLE_CHANGES:
        text = _("Its number of GPUs is unstable: it changed %(n)d times in the last %(minutes)d minutes.")
        findings.append({"status": "bad", "text": text % {"n": changes, "minutes": UNSTABLE_MINUTES}})
    if node.gpu_capacity and not node.gpu_type:
        text = _("The GPU’s product is not known: the label %(label)s is missing.")
        findings.append({"status": "info", "text": text % {"label": "nvidia.com/gpu.product"}})
    if node.gpu_capacity and node.gpu_memory_mib is None:
        unreadable = "nvidia.com/gpu.memory" in node.labels
        text = (
            _("The GPU’s memory is not known: the label %(label)s is unreadable.")
            if unreadable
            else _("The GPU’s memory is not known: the label %(label)s is missing.")
        )
        findings.append({"status": "info", "text": text % {"label": "nvidia.com/gpu.memory"}})
    if node.cordoned:
        findings.append({"status": "wait", "text": _("It is cordoned: what runs on it stays, nothing new starts.")})
    return findings


def recent_gpu_changes(node: Node) -> int:
    """How often the node's GPU counts changed in the last minutes."""
    since = timezone.now() - timedelta(minutes=UNSTABLE_MINUTES)
    moments = (parse_datetime(moment) for moment in node.gpu_changes)
    return sum(moment is not None and moment > since for moment in moments)


def event_views(events: Iterable[ClusterEvent]) -> list[dict[str, Any]]:
    """Kubernetes events as components/timeline.html takes them."""
    return [
        {
            "at": event.last_seen_at,
            "status": "wait" if event.type == "Warning" else "info",
            "text": f"{event.reason}: {event.message}" if event.message else event.reason,
            "source": event.source,
            "count": event.count,
        }
        for event in events
    ]


def node_crumbs(node: Node) -> list[dict[str, str]]:
    """Where a node's page is."""
    nodes = reverse("clusters:node-list")
    return [
        {"label": _("Nodes"), "url": nodes},
        {"label": node.cluster.name, "url": f"{nodes}?cluster={node.cluster_id}"},
    ]


def node_facts(node: Any, topologies: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The facts in a node's head (a row of `selectors.node_rows`), with its place in each topology."""
    memory = _("%(n)s MiB each") % {"n": node.gpu_memory_mib} if node.gpu_memory_mib else ""
    mig = ", ".join(f"{count} × {name.removeprefix('nvidia.com/')}" for name, count in sorted(node.mig.items()))
    held = _("%(held)s of %(all)d") % {"held": _plain(Decimal(node.held)), "all": node.gpu_capacity}
    return [
        {"label": _("Node pool"), "value": node.pool},
        *({"label": name, "value": _place(node, keys)} for name, keys in topologies.items()),
        {"label": _("GPUs allocated"), "value": held, "note": mig},
        {"label": _("GPU type"), "value": node.gpu_type or _("not known"), "note": memory},
        {"label": _("Kubelet"), "value": node.kubelet_version or _("not known")},
    ]


def _place(node: Node, keys: Sequence[str]) -> str:
    missing = [key for key in keys if not node.labels.get(key)]
    if missing:
        return _("outside: no label %(labels)s") % {"labels": ", ".join(missing)}
    return " › ".join(node.labels[key] for key in keys)


def gpus_of(node: Any) -> NodeGpus:
    """The GPUs of a row of `selectors.node_rows`."""
    return node_gpus(
        capacity=node.gpu_capacity,
        allocatable=node.gpu_allocatable,
        held=Decimal(node.held),
        cordoned=node.cordoned,
        ready=node.ready,
    )


def node_cells(node: Any) -> list[dict[str, Any]]:
    """The GPUs of one node as cells of the map, at most `NODE_CELLS`: a capacity is whatever somebody wrote."""
    return [_cell(node.name, number, cell) for number, cell in enumerate(cells_of(gpus_of(node))[:NODE_CELLS])]


def map_groups(groups: Sequence[Group], unit: str = "%") -> list[dict[str, Any]]:
    """Groups as components/gpu_map.html takes them."""
    return [
        {
            "name": group.name or _("No label"),
            "note": _gpus(group.gpus),
            "racks": [
                {
                    "name": _outside(rack.name) if rack.outside else rack.name,
                    "note": _gpus(sum(node.gpus.total for node in rack.nodes)),
                    "outside": rack.outside,
                    "nodes": [_map_node(node, unit) for node in rack.nodes],
                }
                for rack in group.racks
            ],
        }
        for group in groups
    ]


def map_legend(strip: GpuStrip) -> list[dict[str, Any]]:
    """The states of GPUs with their counts; none that are not known."""
    if not strip.known:
        return []
    return [
        {"state": "allocated", "label": _("Allocated"), "count": strip.allocated},
        {"state": "free", "label": _("Free"), "count": strip.free},
        {"state": "cordoned", "label": _("Cordoned"), "count": strip.cordoned},
        {"state": "unhealthy", "label": _("Unhealthy"), "count": strip.unhealthy},
    ]


def map_histogram(counted: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """GPUs by figure, as rows of bars; the longest fills the width."""
    most = max((count for _label, count in counted), default=0) or 1
    return [
        {"label": label, "count": count, "step": step, "width": pct(100 * count / most)}
        for step, (label, count) in enumerate(counted)
    ]


def map_words() -> dict[int, str]:
    """What the canvas says for a code."""
    return {CODES[state]: word for state, word in _words().items() if state in CODES}


def nodes_to_look_at(rows: Any) -> list[dict[str, Any]]:
    """The nodes that need a person, the worst first, as findings."""
    findings = []
    for node in rows.filter(urgency__lt=4).order_by("urgency", "name", "pk")[:TO_LOOK_AT]:
        problems = [p for p in node_problems(node) if p["status"] != "info"]
        text = problems[0]["text"] if problems else ""
        if node.ready != "True":
            text = _("It is not ready.") if node.ready == "False" else _("The kubelet does not report any more.")
        url = reverse("clusters:node-detail", args=[node.pk])
        status = "bad" if node.urgency < 3 else "off"
        findings.append({"status": status, "text": text, "objects": [{"label": node.name, "url": url}]})
    return findings


def _map_node(node: MapNode, unit: str) -> dict[str, Any]:
    icons = {"NotReady": "circle-x", "Unknown": "circle-help", "Cordoned": "ban", "Unhealthy": "triangle-alert"}
    return {
        "name": node.name,
        "url": node.url,
        "icon": icons.get(node.state, ""),
        "title": node.name,
        "cells": [_cell(node.name, number, cell, unit) for number, cell in enumerate(node.cells)],
    }


def _cell(name: str, number: int, cell: Cell, unit: str = "%") -> dict[str, Any]:
    text = "" if cell.value in (None, 100) and cell.state != "measured" else str(cell.value)
    word = _words()[cell.state]
    what = ", ".join(part for part in (word, f"{text} {unit}" if text else "") if part)
    return {
        "value": cell.value,
        "state": cell.state,
        "text": text,
        "css": "held" if cell.state == "held" else "",
        "label": _("%(node)s, GPU %(number)d: %(what)s") % {"node": name, "number": number, "what": what},
    }


def _words() -> dict[str, str]:
    return {
        "held": _("allocated"),
        "measured": "",
        "free": _("free"),
        "unhealthy": _("unhealthy"),
        "cordoned": _("cordoned"),
        "unknown": _("not measured"),
    }


def _outside(name: str) -> str:
    return _("%(name)s, outside the topology") % {"name": name} if name else _("Outside the topology")


def _gpus(count: int) -> str:
    return ngettext("%(n)s GPU", "%(n)s GPUs", count) % {"n": number(count)}


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")
