"""Changing the quota rows of a department or project, as part of the services of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import Conflict, Fault, InvalidInput
from organizations.models import Department, Project, Quota
from organizations.quota import COLUMNS, HIGHEST_PRIORITY, LARGEST
from organizations.quota_rows import ensure_quota_rows
from topology.models import NodePool


@dataclass(frozen=True, slots=True)
class QuotaInput:
    """What is said of one pool. `amounts` by column (`gpu_deserved`, …), read with `organizations.quota`; an absent
    column and a `priority` of None leave what is there."""

    pool: NodePool
    amounts: Mapping[str, Decimal] = field(default_factory=dict)
    priority: int | None = None


def write_quotas(owner: Department | Project, inputs: Sequence[QuotaInput]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write what differs; returns before and after for the audit, by pool. Rows of all pools exist afterwards."""
    _check(owner, inputs)
    try:
        with transaction.atomic():
            rows = {quota.node_pool_id: quota for quota in ensure_quota_rows(owner)}
    except IntegrityError as error:
        raise Conflict(_("The names of the queues were taken in this moment. Try again.")) from error
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for given in inputs:
        row = rows[given.pool.pk]
        changes = _changes(row, given)
        if changes:
            before[given.pool.name] = {name: _plain(getattr(row, name)) for name in changes}
            after[given.pool.name] = {name: _plain(value) for name, value in changes.items()}
            Quota.objects.filter(pk=row.pk).update(**changes, updated_at=timezone.now())
    return before, after


def _changes(row: Quota, given: QuotaInput) -> dict[str, Any]:
    wanted: dict[str, Any] = dict(given.amounts)
    if given.priority is not None:
        wanted["priority"] = given.priority
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _plain(value: Any) -> Any:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


def _check(owner: Department | Project, inputs: Sequence[QuotaInput]) -> None:
    faults: list[Fault] = []
    seen: set[int] = set()
    for index, given in enumerate(inputs):
        place = f"resources[{index}]"
        if given.pool.cluster_id != owner.cluster_id:
            faults.append(Fault(f"{place}.nodePool", _("The node pool lies in another cluster")))
        elif given.pool.is_being_deleted:
            faults.append(Fault(f"{place}.nodePool", _("Node pool %(name)s is being deleted") % {"name": given.pool}))
        if given.pool.pk in seen:
            faults.append(Fault(f"{place}.nodePool", _("The node pool is there twice"), _("one entry a pool")))
        seen.add(given.pool.pk)
        if given.priority is not None and not 0 <= given.priority <= HIGHEST_PRIORITY:
            faults.append(Fault(f"{place}.priority", _("The priority is out of range"), f"0 – {HIGHEST_PRIORITY}"))
        unknown = set(given.amounts) - set(COLUMNS)
        if unknown:
            faults.append(Fault(place, _("Unknown amounts"), ", ".join(COLUMNS)))
        faults.extend(
            Fault(f"{place}.{name}", _("%(value)s is out of range") % {"value": f"{amount:f}"}, "< 10^12")
            for name, amount in given.amounts.items()
            if amount >= LARGEST
        )
    if faults:
        raise InvalidInput(faults)
