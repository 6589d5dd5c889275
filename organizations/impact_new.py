"""What a new project would do to others, before it is saved: nothing at once, but its quota is there to be claimed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from clusters.snapshot import shard_snapshot
from organizations.models import Project, Quota
from organizations.quota import DEFAULTS
from organizations.rendering import parent_names, queue_of
from organizations.services import QuotaInput
from scheduling.impact import Impact, compare
from scheduling.objects import read_queue
from scheduling.structs import Pod, PodGroup, Queue, Resources, Snapshot
from topology.impact import merged, shown
from topology.impact_names import Names, Shown

# No object of a cluster can be called so: its queue and namespace are not there yet.
NEW = "new project"
# So many GPUs are asked for at most: more of them say no more about whom it hits first.
MOST_GPUS = 64


def creation_impact(user: Any, project: Project, inputs: Sequence[QuotaInput], *, now: datetime) -> Shown:
    """Whom it would hit if the project, which is not saved, asked for all the GPUs that it is to deserve (`whenAsked`),
    on every pool that is named and where it would hit anybody else."""
    parents = parent_names(project)
    parts = []
    for given in inputs:
        gpus = given.amounts.get("gpu_deserved", Decimal(0))
        if gpus < 1 or given.pool.pk not in parents:
            continue
        shard = shard_snapshot(project.cluster, given.pool.shard, now=now)
        queue = _queue(project, given, parents[given.pool.pk])
        after = _asking(shard.snapshot, queue, min(int(gpus), MOST_GPUS))
        found = compare(shard.snapshot, after, shard.config)
        if not _concerns_others(found, queue):
            continue
        names = _with_new(Names.of(user, project.cluster, found.hits), project)
        parts.append(shown(given.pool.shard, shard, found, names))
    return {**merged(parts), "whenAsked": True}


def _concerns_others(found: Impact, queue: Queue) -> bool:
    """Whether anything happens to anybody but the queue, its claims and the queue above it."""
    own = {queue.name, queue.parent}
    hits = [hit for hit in found.hits if hit.queue != queue.name]
    return bool(hits or found.unchecked or [move for move in found.moves if move.queue not in own])


def _queue(project: Project, given: QuotaInput, parent: str) -> Queue:
    """The queue that it would get, as the scheduler reads it."""
    more = {} if given.priority is None else {"priority": given.priority}
    quota = Quota(
        cluster=project.cluster,
        node_pool=given.pool,
        project=project,
        queue_name=NEW,
        **{**DEFAULTS, **given.amounts},
        **more,
    )
    return read_queue(queue_of(quota, parent))


def _asking(snapshot: Snapshot, queue: Queue, gpus: int) -> Snapshot:
    """The shard with the queue, and with a pod waiting in it for each GPU."""
    groups = tuple(
        PodGroup(f"{NEW} {n}", queue.name, NEW, created=snapshot.now, pool=snapshot.pool) for n in range(gpus)
    )
    pods = tuple(
        Pod(group.name, NEW, group.key, requests=Resources(gpu=1.0), uid=group.key, created=snapshot.now)
        for group in groups
    )
    return msgspec.structs.replace(
        snapshot,
        queues=(*snapshot.queues, queue),
        podgroups=(*snapshot.podgroups, *groups),
        pods=(*snapshot.pods, *pods),
    )


def _with_new(names: Names, project: Project) -> Names:
    """With what the new project is called."""
    claims = {f"{NEW}/{NEW} {n}": project.name for n in range(MOST_GPUS)}
    return replace(
        names,
        queues={**names.queues, NEW: project.name},
        namespaces={**names.namespaces, NEW: project.name},
        workloads={**names.workloads, **claims},
    )
