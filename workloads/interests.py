"""Which workloads an observed change concerns: they are made due, so that their status follows at once."""

import uuid
from collections.abc import Iterator, Mapping, Sequence

from clusters.kinds import EVENT, NODE
from clusters.models import Cluster, ClusterObject, Pod
from clusters.names import WORKLOAD_LABEL
from clusters.watcher.changes import Change
from core.hints import hint_reconcile
from core.leases import poke
from workloads.models import Workload

OWNER_PREFIX = f"{Workload._meta.label}."


def wake_for(cluster: Cluster, changes: Sequence[Change]) -> None:
    """Make due the workloads whose graph, pods, groups or cliques changed, those with pods on a changed node, and those
    of whose objects an Event speaks."""
    pks = {pk for change in changes for pk in _workloads_in(change.labels, change.owner)}
    pks |= _spoken_of(cluster, [change for change in changes if change.kind == EVENT])
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


def _spoken_of(cluster: Cluster, events: Sequence[Change]) -> set[uuid.UUID]:
    """The workloads that own what these Events speak of. 2 queries for any number of them."""
    if not events:
        return set()
    about = {(change.namespace, change.about[1]) for change in events}
    named = {
        "cluster": cluster,
        "namespace__in": {place for place, _ in about},
        "name__in": {name for _, name in about},
    }
    pods = Pod.objects.filter(**named).exclude(workload="").values_list("namespace", "name", "workload")
    found = {pk for place, name, text in pods if (place, name) in about for pk in _uuid(text)}
    objects = ClusterObject.objects.filter(**named).only("namespace", "name", "owner", "manifest")
    for row in objects:
        if (row.namespace, row.name) in about:
            found |= set(_workloads_in(row.manifest["metadata"].get("labels") or {}, row.owner))
    return found


def _workloads_in(labels: Mapping[str, str], owner: str) -> Iterator[uuid.UUID]:
    yield from _uuid(labels.get(WORKLOAD_LABEL, ""))
    if owner.startswith(OWNER_PREFIX):
        yield from _uuid(owner.removeprefix(OWNER_PREFIX))


def _uuid(text: str) -> Iterator[uuid.UUID]:
    """The id in a label; anything else was not written by Muster."""
    try:
        yield uuid.UUID(text)
    except ValueError:
        return
