"""What a change of quota would bring about, before it is saved: warnings with the numbers in them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from organizations.models import Department, Project, Quota
from organizations.quota import COLUMNS, DEFAULTS, QuotaWarning, WarningCode, over, total, warnings_for
from organizations.quota_rows import used
from organizations.selectors import capacities
from organizations.services import QuotaInput
from topology.models import NodePool


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
