"""Sample data that draws every component once: one small fleet with numbers that add up."""

from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.utils.timezone import now

from core.figures import Domain, icicle
from core.filters import Filter, parse_term
from core.saved_views import Relief, ViewLink
from core.tables import Column, Head, Table, TableSpec
from core.templatetags.ui import duration

Group = namedtuple("Group", "label entries")
NOON = datetime(2026, 11, 24, 14, 2, 31, tzinfo=UTC)


def navigation() -> list[Group]:
    def entry(label: str, icon: str, current: bool = False, count: int | None = None) -> dict[str, Any]:
        return {"label": label, "icon": icon, "url": f"/{label.lower()}", "current": current, "count": count}

    return [
        Group("", [entry("Overview", "layout-dashboard"), entry("Workloads", "boxes", current=True)]),
        Group("Organisation", [entry("Projects", "folder"), entry("Departments", "building-2")]),
        Group(
            "Resources",
            [
                entry("Clusters", "server", count=1),
                entry("Node pools", "layers"),
                entry("Nodes", "cpu", count=1800),
                entry("Network topologies", "network"),
            ],
        ),
        Group("Insight", [entry("GPU utilisation", "activity")]),
    ]


@dataclass
class Row:
    pk: int
    name: str
    phase: str
    project: str
    asked: Decimal | None
    held: Decimal | None
    why: str = ""
    since: timedelta = timedelta(minutes=39)

    def __str__(self) -> str:
        return self.name

    @property
    def waiting(self) -> str:
        return duration(self.since)


ROWS = [
    Row(1, "llama-70b-disagg", "Pending", "assistant", Decimal(32), Decimal(0), "32 in one rack; largest is 24"),
    Row(2, "eval-longctx", "Pending", "evals", Decimal(32), Decimal(0), "4 whole nodes; 3 are free"),
    Row(3, "mistral-nemo-agg", "Failed", "project-a", Decimal(2), Decimal(0), "Out of GPU memory, 6 restarts"),
    Row(4, "qwen3-8b-agg", "Degraded", "assistant", Decimal(4), Decimal(4), "Worker restarts: liveness probe"),
    Row(5, "qwen3-32b-disagg", "Running", "assistant", Decimal("24.5"), Decimal(24), since=timedelta(days=4)),
    Row(6, "notebook-lin", "Stopped", "project-a", Decimal(1), None, since=timedelta(hours=5, minutes=40)),
    Row(7, "lost-one", "Unknown", "search", Decimal(-1), None, since=timedelta(seconds=12)),
]

FILTERS = (
    Filter(key="phase", label="Phase", kind="choice", choices=(("Pending", "Pending"), ("Completed", "Completed"))),
    Filter(key="asked", label="GPUs asked", kind="number"),
    Filter(key="name", label="Name"),
)
SPEC = TableSpec(
    name="workloads",
    row_template="gallery.html#row",
    empty_template="gallery.html#empty",
    bulk_template="gallery.html#bulk",
    columns=(
        Column(key="name", label="Name", sort=("name",)),
        Column(key="phase", label="Phase", sort=("phase",)),
        Column(key="project", label="Project", sort=("project",)),
        Column(key="asked", label="Asked", unit="GPUs", sort=("asked",), numeric=True),
        Column(key="held", label="Held", hint="GPUs that its pods hold now", sort=("held",), numeric=True),
        Column(key="why", label="Why", grow=True),
        Column(key="since", label="For", sort=("since",), numeric=True),
    ),
    default_sort="phase",
    search=("name",),
    search_label="Name, project, owner, image",
    filters=FILTERS,
)


def table(rows: list[Row], *, total_all: int, terms: tuple[str, ...] = ()) -> Table:
    parsed = tuple(parse_term(text, FILTERS) for text in terms)
    page = Paginator(rows, 4).get_page(1) if rows else Paginator(rows, 50).get_page(1)
    return Table(
        spec=SPEC,
        heads=tuple(Head(c, "ascending" if c.key == "phase" else "", f"-{c.key}") for c in SPEC.columns),
        page=page,
        rows=rows,
        matching=None,  # type: ignore[arg-type]
        total=len(rows),
        total_all=total_all,
        sort="phase",
        q="",
        terms=parsed,
        views=(
            ViewLink("All", "", 31, False),
            ViewLink("Active", "filter=phase!%3DCompleted", 19, True),
            ViewLink("Waiting", "filter=phase%3D%3DPending", 4, False),
        ),
        reliefs=tuple(Relief(term, 2) for term in parsed[:1]) if not rows else (),
    )


class SampleForm(forms.Form):
    name = forms.CharField(help_text="a–z, 0–9 and “-”, letter first, up to 63", initial="qwen-7b")
    wrong = forms.RegexField(regex=r"^[a-z0-9-]+$", error_messages={"invalid": "“Q” and “_” are not allowed"})
    pool = forms.ChoiceField(choices=[("default", "default"), ("h200", "h200")])
    replicas = forms.IntegerField(required=False)
    note = forms.CharField(widget=forms.Textarea(attrs={"rows": 2}), required=False)
    preemptible = forms.BooleanField(required=False, label="May be preempted")


def tree(compact: bool = False) -> Any:
    def node(number: int, states: str, pool: str = "pool default") -> Domain:
        names = {"a": "allocated", "i": "idle", "u": "unknown", "f": "free", "c": "cordoned", "x": "unhealthy"}
        return Domain(f"gpu-{number:02}", f"/n/{number}", gpus=tuple(names[s] for s in states), group=pool)

    def rack(name: str, *nodes: Domain) -> Domain:
        return Domain(name, f"?at={name}", nodes)

    z1 = Domain(
        "z1",
        "?at=z1",
        (
            rack("z1-r1", node(1, "a" * 8), node(2, "a" * 8), node(3, "a" * 8)),
            rack("z1-r2", node(4, "aaaaiiai"), node(5, "aaaxaiff"), node(6, "a" * 8)),
            rack("z1-r3", node(7, "a" * 8), node(8, "u" * 8)),
        ),
    )
    z2 = Domain(
        "z2",
        "?at=z2",
        (
            rack("z2-r1", node(10, "a" * 8), node(11, "iiiiffff"), node(12, "c" * 8)),
            rack("z2-r2", node(13, "aaaaffff"), node(14, "f" * 8), node(15, "f" * 8)),
            rack("z2-r3", node(16, "f" * 8), node(17, "a" * 8, "pool h200"), node(18, "iiiiffff", "pool h200")),
        ),
    )
    return icicle([z1, z2], [node(9, "aaaaaiii", "default")], ["zone", "rack", "node"])


def gpu_groups() -> list[dict[str, Any]]:
    def cell(name: str, gpu: int, value: int | None, state: str = "") -> dict[str, Any]:
        return {"value": value, "text": value, "state": state, "label": f"{name} GPU {gpu}: {state or value}"}

    def node(name: str, values: list[int | str], icon: str = "") -> dict[str, Any]:
        cells = [cell(name, i, v) if isinstance(v, int) else cell(name, i, None, v) for i, v in enumerate(values)]
        return {"name": name, "url": f"/n/{name}", "icon": icon, "cells": cells}

    busy: list[int | str] = [88, 86, 71, 64, 52, 35, 9, 0]
    return [
        {
            "name": "z1",
            "note": "72 GPUs",
            "racks": [
                {"name": "z1-r1", "note": "24 GPUs, mean 80 %", "nodes": [node("gpu-01", busy), node("gpu-02", busy)]},
                {
                    "name": "z1-r2",
                    "note": "24 GPUs",
                    "nodes": [
                        node("gpu-05", [44, 47, 41, "unhealthy", 52, 0, "free", "free"], "triangle-alert"),
                        node("gpu-12", ["cordoned"] * 8, "ban"),
                    ],
                },
                {
                    "name": "Outside dc-topology",
                    "note": "no rack label",
                    "outside": True,
                    "nodes": [node("gpu-08", ["unknown"] * 8, "circle-question-mark")],
                },
            ],
        }
    ]


def figure() -> dict[str, Any]:
    hours = [f"2026-11-24T{hour:02}:00:00Z" for hour in range(24)]
    busy = [40 + (hour * 7) % 12 for hour in range(24)]
    busy[9] = None  # type: ignore[call-overload]
    return {
        "data": [
            {
                "type": "scatter",
                "name": "allocated",
                "x": hours,
                "y": [90 + hour % 5 for hour in range(24)],
                "line": {"color": "var(--gpu-allocated)", "shape": "hv"},
            },
            {"type": "scatter", "name": "busy", "x": hours, "y": busy, "line": {"color": "var(--cat-2)"}},
        ],
        "layout": {"height": 232, "margin": {"l": 32, "r": 84, "t": 24, "b": 24}, "showlegend": False},
    }


def context() -> dict[str, Any]:
    form = SampleForm({"name": "qwen-7b", "wrong": "Qwen_7B", "pool": "h200"})
    form.is_valid()
    names = ("ok", "info", "wait", "bad", "off")
    return {
        "nav": navigation(),
        "search_url": "/search",
        "scope": [
            {"label": "cluster-a", "icon": "server", "choices": [{"label": "cluster-a", "url": "?", "current": True}]},
            {"label": "All projects", "icon": "", "choices": [{"label": "search", "url": "?project=search"}]},
        ],
        "user": SimpleNamespace(is_authenticated=True, get_username="ada@example.org"),
        "table": table(ROWS, total_all=31, terms=("phase!=Completed", "asked>=1")),
        "empty_table": table([], total_all=0),
        "filtered_table": table([], total_all=2, terms=("asked>=16", "phase==Pending")),
        "phases": ["Running", "Pending", "Failed", "Degraded", "Stopped", "Completed", "Creating", "Unknown"],
        "tiles": [
            {"label": "GPUs in total", "value": 144, "sub": "18 nodes, 2 pools", "url": "/nodes"},
            {"label": "Allocated", "state": "allocated", "value": 97, "small": "67 %", "sub": "74 of them working"},
            {"label": "Idle though allocated", "state": "idle", "value": 15, "sub": "under 5 %", "part": True},
            {"label": "Not measured", "state": "unknown", "value": 8, "sub": "gpu-08", "part": True},
            {"label": "Free", "state": "free", "value": 38, "sub": "34 default, 4 h200", "url": "/nodes?free"},
            {"label": "Cordoned", "state": "cordoned", "value": 8, "sub": "gpu-12"},
            {"label": "Unhealthy", "state": "unhealthy", "value": 1, "sub": "gpu-05, GPU 3"},
        ],
        "parts": [
            ("allocated", 74),
            ("idle", 15),
            ("unknown", 8),
            ("cordoned", 8),
            ("unhealthy", 1),
            ("free", 38),
        ],
        "tabs": [
            {"label": "Overview", "url": "?", "current": True},
            {"label": "Events", "url": "?tab=events", "count": 14},
            {"label": "YAML", "url": "?tab=yaml"},
        ],
        "facts": [
            {"label": "Waiting", "value": "39 min", "note": "since 13:26"},
            {"label": "GPUs", "value": "0", "note": "of 32"},
            {"label": "Project", "value": "assistant", "url": "/projects/1"},
        ],
        "crumbs": [{"label": "Workloads", "url": "/workloads"}, {"label": "assistant"}],
        "findings": [
            {
                "status": "wait",
                "text": "1 node is outside: gpu-09 has no label topology.kubernetes.io/rack.",
                "detail": "No workload with a placement constraint can use its 8 GPUs. Neighbours:",
                "objects": [{"label": "gpu-07", "url": "/n/7"}, {"label": "gpu-08", "url": "/n/8"}],
                "clip": "kubectl label node gpu-09 topology.kubernetes.io/rack=z1-r3",
                "clip_label": "Copy kubectl label line",
            },
            {"status": "off", "text": "gpu-12 is cordoned.", "action_url": "/n/12", "action_label": "Open node"},
            {"status": "ok", "text": "Order is right: each rack lies in one zone."},
        ],
        "conditions": [
            {"status": "bad", "type": "Synced", "text": "The API refused the topology.", "since": NOON},
            {"status": "ok", "type": "Accepted", "text": "The levels are valid.", "since": NOON},
        ],
        "events": [
            {"at": NOON, "status": "wait", "text": "No rack fits, tried 6 of 6", "source": "scheduler", "count": 14},
            {"at": NOON, "text": "PodGroup created", "object": "pg-llama", "url": "/x", "source": "Kubernetes"},
        ],
        "differences": [
            {"path": "spec.resources.gpu.limit", "applied": "-1", "actual": "8", "owner": "kubectl-edit"},
        ],
        "roles": [
            {"name": "frontend", "replicas": 1, "gpus_each": 0, "placed": 1, "ready": 1},
            {"name": "prefill", "replicas": 4, "gpus_each": 4, "placed": 3, "ready": 1},
            {"name": "decode", "replicas": 2, "gpus_each": 8, "placed": 0, "ready": 0},
        ],
        "gang_total": {"gpus": 32, "placed": 4, "pods": 7, "ready": 2},
        "menu": [
            {"label": "Clone", "icon": "copy", "url": "?clone", "shortcut": "C"},
            {"label": "View YAML", "icon": "file-code", "url": "?yaml", "shortcut": "Y"},
            {"label": "Resume", "icon": "play", "url": "", "disabled": "It is running."},
            {
                "label": "Delete…",
                "icon": "trash-2",
                "url": "/confirm",
                "danger": True,
                "dialog": True,
                "shortcut": "Del",
            },
        ],
        "hits": [
            {"text": "2 node pools lose their topology: default, h200", "icon": "layers"},
            {"text": "3 running workloads keep running", "harmless": True},
        ],
        "form": form,
        "yaml": "kind: Pod\n",
        "problems": [{"line": 1, "status": "bad", "text": "Pods are not accepted"}],
        "levels": [
            {"value": "topology.kubernetes.io/zone", "note": "2 domains"},
            {"value": "topology.kubernetes.io/rack", "note": "6 domains"},
            {"value": "kubernetes.io/hostname", "note": "17 domains"},
        ],
        "tree": tree(),
        "groups": gpu_groups(),
        "figure": figure(),
        "legend": [
            {"state": state, "label": state, "count": count}
            for state, count in (("allocated", 74), ("idle", 15), ("unknown", 8), ("free", 38))
        ],
        "statuses": names,
        "noon": NOON,
        "recent": now() - timedelta(minutes=39),
        "numbers": [Decimal("0"), None, Decimal("-1"), Decimal("1234.50"), 0.1 + 0.2],
    }
