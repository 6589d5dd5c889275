"""Which workloads an observed change concerns: they are made due, so that their status follows at once."""

import uuid
from collections.abc import Iterator, Sequence

from clusters.kinds import NODE
from clusters.models import Cluster, Pod
from clusters.names import WORKLOAD_LABEL
from clusters.watcher.changes import Change
from core.hints import hint_reconcile
from core.leases import poke
from workloads.models import Workload

OWNER_PREFIX = f"{Workload._meta.label}."


def wake_for(cluster: Cluster, changes: Sequence[Change]) -> None:
    """Make due the workloads whose graph, pods, groups or cliques changed, and those with pods on a changed node."""
    pks = {pk for change in changes for pk in _workloads_in(change)}
    nodes = {change.name for change in changes if change.kind == NODE}
    if nodes:
        texts = Pod.objects.filter(cluster=cluster, node_name__in=nodes).exclude(workload="")
        pks |= {pk for text in texts.values_list("workload", flat=True).distinct() for pk in _uuid(text)}
    rows = Workload.objects.filter(cluster=cluster, pk__in=pks)
    if nodes:
        rows = rows | Workload.objects.filter(cluster=cluster, phase="Pending")
    found = list(rows.only("pk"))
    poke(Workload, [row.pk for row in found])
    for row in found:
        hint_reconcile(row)


def _workloads_in(change: Change) -> Iterator[uuid.UUID]:
    yield from _uuid(change.labels.get(WORKLOAD_LABEL, ""))
    if change.owner.startswith(OWNER_PREFIX):
        yield from _uuid(change.owner.removeprefix(OWNER_PREFIX))


def _uuid(text: str) -> Iterator[uuid.UUID]:
    """The id in a label; anything else was not written by Muster."""
    try:
        yield uuid.UUID(text)
    except ValueError:
        return
