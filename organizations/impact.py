"""What a change of quota would bring about, before it is saved: warnings with the numbers in them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from clusters.models import Cluster
from organizations.fair_share import queue_names
from organizations.impact_new import creation_impact
from organizations.models import Department, Project, Quota
from organizations.quota import COLUMNS, DEFAULTS, QuotaWarning, WarningCode, over, total, warnings_for
from organizations.quota_rows import used
from organizations.selectors import capacities
from organizations.services import QuotaInput
from scheduling.impact_edits import with_queues, without_queues
from scheduling.shares_holdings import Changes
from scheduling.structs import Snapshot
from topology.impact import Edit, impact_of, merged
from topology.impact_names import Shown
from topology.models import NodePool

# From the units of quotas to the engine's: devices, millicores, bytes.
_ENGINE = {"gpu": Decimal(1), "cpu": Decimal(1), "memory": Decimal(10) ** 6}


def quota_impact(user: Any, owner: Department | Project, inputs: Sequence[QuotaInput], *, now: datetime) -> Shown:
    """What other quotas, limits, weights and priorities would do to work and shares, on every pool that is named. An
    owner that is not saved: see `creation_impact`; a new department has nothing that could ask for its quota."""
    if owner.pk is None:
        return creation_impact(user, owner, inputs, now=now) if isinstance(owner, Project) else merged([])
    rows = {row.node_pool_id: row for row in owner.quotas.all()}
    edits: dict[str, Edit] = {}
    for given in inputs:
        row = rows.get(given.pool.pk)
        changes = _changes_of(row, given) if row else None
        if changes is not None:
            edits[given.pool.shard] = _edit_of(changes)
    return impact_of(user, owner.cluster, edits, now=now)


def _edit_of(changes: Changes) -> Edit:
    return lambda snapshot: with_queues(snapshot, changes)


def _changes_of(row: Quota, given: QuotaInput) -> Changes | None:
    """What differs of the row, in the engine's units; None where nothing does."""
    differ = {column: amount for column, amount in given.amounts.items() if getattr(row, column) != amount}
    other_priority = given.priority is not None and given.priority != row.priority
    if not differ and not other_priority:
        return None
    found: dict[str, dict[tuple[str, str], float]] = {"deserved": {}, "limit": {}, "weight": {}}
    for column, amount in differ.items():
        resource, _underscore, bound = column.partition("_")
        plain = bound == "weight" or amount < 0
        found[bound][row.queue_name, resource] = float(amount if plain else amount * _ENGINE[resource])
    priorities = {row.queue_name: given.priority} if other_priority and given.priority is not None else {}
    return Changes({}, found["deserved"], found["limit"], found["weight"], priorities)


def deletion_impact(user: Any, owner: Department | Project, *, now: datetime) -> Shown:
    """What becomes of work in the queues of a department or project that is deleted, and of the others' shares."""
    edits: dict[str, Edit] = {}
    for row in owner.quotas.select_related("node_pool"):
        edits[row.node_pool.shard] = _deleted(row.queue_name)
    return impact_of(user, owner.cluster, edits, now=now)


def _deleted(queue: str) -> Edit:
    def edit(snapshot: Snapshot) -> Snapshot:
        return without_queues(snapshot, {queue})

    return edit


def owner_names(user: Any, cluster: Cluster) -> tuple[dict[str, str], dict[str, str]]:
    """Names that `user` may see: owners by queue, projects by namespace."""
    queues = Quota.objects.filter(cluster=cluster).values_list("queue_name", flat=True)
    by_queue = {queue: name.text for queue, name in queue_names(user, cluster, queues).items() if name.text}
    projects = Project.objects.visible_to(user).filter(cluster=cluster)
    return by_queue, dict(projects.values_list("namespace", "name"))


def warnings_of(owner: Department | Project, inputs: Sequence[QuotaInput]) -> list[QuotaWarning]:
    """Warnings of a department or project that may be unsaved; the rows of the pools that are named."""
    rows = {row.node_pool_id: row for row in owner.quotas.all()} if owner.pk else {}
    capacity = capacities([given.pool for given in inputs])
    found: list[QuotaWarning] = []
    for given in inputs:
        row = rows.get(given.pool.pk)
        old = {column: getattr(row, column) for column in COLUMNS} if row else dict(DEFAULTS)
        new = {**old, **given.amounts}
        found += warnings_for(given.pool.name, new, old if row else {}, used(row) if row else {})
        if new["gpu_deserved"] != old["gpu_deserved"]:
            found += _sums(owner, given.pool, new, capacity[given.pool.pk].gpu)
    return found


def _sums(
    owner: Department | Project, pool: NodePool, new: Mapping[str, Decimal], capacity: Decimal
) -> list[QuotaWarning]:
    """GPUs against the department above, and against what the pool has. Unlimited amounts enter no sum."""
    deserved = new["gpu_deserved"]
    if isinstance(owner, Project):
        siblings = Quota.objects.filter(project__department=owner.department, node_pool=pool).exclude(project=owner.pk)
        given = total([*siblings.values_list("gpu_deserved", flat=True), deserved]).amount
        above = Quota.objects.filter(department=owner.department_id, node_pool=pool).first()
        bound = above.gpu_deserved if above else Decimal(0)
        if over(bound, given):
            return [QuotaWarning(WarningCode.PROJECTS_EXCEED_DEPARTMENT, pool.name, "gpu", given, bound)]
        return []
    others = Quota.objects.filter(department__isnull=False, node_pool=pool).exclude(department=owner.pk)
    given = total([*others.values_list("gpu_deserved", flat=True), deserved]).amount
    if capacity and given > capacity:
        return [QuotaWarning(WarningCode.EXCEEDS_CAPACITY, pool.name, "gpu", given, capacity)]
    return []
