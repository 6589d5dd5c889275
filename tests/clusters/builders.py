"""Rows that the tests of pages, figures and the API build."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
from django.utils import timezone

from clusters.models import Cluster, Node, Pod
from metrics.frames import UNMEASURED, Layout, pack
from metrics.models import MetricFrame, MetricSource
from metrics.recording import STEP

AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


def add_node(cluster: Cluster, name: str, **columns: Any) -> Node:
    values = {"gpu_capacity": 8, "gpu_allocatable": 8, "ready": "True", "gpu_type": "H100", "gpu_memory_mib": 81559}
    identity = {"uid": f"node-{cluster.name}-{name}", "resource_version": "1", "created_at": AT}
    return Node.objects.create(cluster=cluster, name=name, **(identity | values | columns))


def add_pod(cluster: Cluster, name: str, node: str, gpus: str = "1", **columns: Any) -> Pod:
    values = {"namespace": "runai-assistant", "phase": "Running", "node_name": node, "gpus": Decimal(gpus)}
    identity = {"uid": f"pod-{cluster.name}-{name}", "resource_version": "1", "created_at": AT}
    return Pod.objects.create(cluster=cluster, name=name, **(identity | values | columns))


def record_figures(cluster: Cluster) -> None:
    """One round of the exporter of n1: device 0 at 90 % and 1 at 0 %, both held, 2 not measured."""
    layout = Layout(("n1",))
    size = layout.size
    present, owner = np.zeros(size, np.uint8), np.zeros(size, np.uint16)
    present[:8], owner[:3] = 1, 1
    figures = np.full(size, UNMEASURED, np.uint8)
    figures[:2] = (90, 0)
    packed = {name: pack(figures) for name in ("utilisation", "memory", "temperature")}
    now = timezone.now()
    MetricSource.objects.create(cluster=cluster, nodes=["n1"], read_at=now)
    MetricFrame.objects.create(
        cluster=cluster, step=STEP, at=now, present=pack(present), owner=pack(owner), owners=["1"], **packed
    )
