"""Quota rows as the API shows them: what departments and projects have and hold on each node pool."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec
from django.db.models.expressions import Combinable

from core.api.columns import Remembered, as_stored, as_text
from organizations.api.amounts import priority_name
from organizations.api.shapes import (
    Amounts,
    Bounds,
    Deserved,
    MemoryBounds,
    PoolName,
    PoolQuotaStatus,
    ProjectsResources,
    QuotaStatus,
    ResourceShape,
    TotalResources,
)
from organizations.models import Quota
from organizations.quota import RESOURCES, as_bound, as_number

Stored = Decimal | float
# Different amounts that are remembered: more than a list of 1,000 projects has.
KEPT = 2**14


class QuotaRow(NamedTuple):
    """One row as the database has it; amounts in devices, millicores and MB; usage is JSON text."""

    pool_id: int
    pool: str
    gpu_deserved: Stored
    gpu_limit: Stored
    gpu_weight: Stored
    cpu_deserved: Stored
    cpu_limit: Stored
    cpu_weight: Stored
    memory_deserved: Stored
    memory_limit: Stored
    memory_weight: Stored
    priority: int
    usage: str


_COLUMNS: tuple[str | Combinable, ...] = (
    "node_pool_id",
    "node_pool__name",
    *map(as_stored, QuotaRow._fields[2:11]),
    "priority",
    as_text("usage"),
)
Rows = tuple[QuotaRow, ...]


@dataclass(frozen=True, slots=True)
class Quotas:
    """All quota of one department or project, one entry a pool."""

    resources: list[ResourceShape]
    total: TotalResources
    status: QuotaStatus
    by_pool: list[PoolQuotaStatus]


def read_rows(owner: str, keys: Collection[int]) -> dict[int, Rows]:
    """The rows of these departments or projects (`owner` says which) by id; one that has none is absent. One query."""
    return {key: tuple(map(QuotaRow._make, rows)) for key, rows in _fetch(owner, keys).items()}


def read_quotas(owner: str, keys: Collection[int]) -> Callable[[int], Quotas]:
    """The same as shapes. Equal rows are made once: most projects have what their pools gave them. One query."""
    rows = _fetch(owner, keys)
    made = Remembered(lambda raw: quotas_of(tuple(map(QuotaRow._make, raw))))
    return lambda key: made[rows.get(key, ())]


def _fetch(owner: str, keys: Collection[int]) -> dict[int, tuple[tuple[Any, ...], ...]]:
    """Plain tuples by owner. A page of neighbours is asked for as a range, which costs less than 500 parameters."""
    wanted, found = set(keys), dict[int, tuple[tuple[Any, ...], ...]]()
    span = (min(wanted), max(wanted)) if wanted else (0, 0)
    dense = span[1] - span[0] < 2 * len(wanted)
    asked = {f"{owner}__gte": span[0], f"{owner}__lte": span[1]} if dense else {f"{owner}__in": wanted}
    for row in _columns_by(owner).filter(**asked):
        key = row[0]
        if key in wanted:
            found[key] = (*found[key], row[1:]) if key in found else (row[1:],)
    return found


@cache
def _columns_by(owner: str) -> Any:
    """The query, not yet asked: to put it together takes longer than to answer it."""
    return Quota.objects.order_by("pk").values_list(f"{owner}_id", *_COLUMNS)


def quotas_of(rows: Rows) -> Quotas:
    """Shapes of the rows of one owner."""
    each = [_held(row.usage) for row in rows]
    return Quotas(
        [_resource(row) for row in rows],
        TotalResources(**{f"{name}_quota": deserved_of(rows, name) for name in RESOURCES}),
        QuotaStatus(**(each[0] if len(each) == 1 else _together(each))),
        [
            PoolQuotaStatus(**amounts, node_pool_name=row.pool, node_pool_id=str(row.pool_id))
            for row, amounts in zip(rows, each, strict=True)
        ],
    )


def projects_resources(own: Rows, projects: Sequence[Rows]) -> list[ProjectsResources]:
    """`projectsAggregatedResources`: what the projects deserve together on each pool of the department."""
    found = []
    for row in own:
        theirs = tuple(quota for rows in projects for quota in rows if quota.pool_id == row.pool_id)
        gpu, cpu, memory = (deserved_of(theirs, name) for name in RESOURCES)
        found.append(
            ProjectsResources(
                node_pool=PoolName(id=str(row.pool_id), name=row.pool),
                gpu=Deserved(deserved=gpu),
                cpu=Deserved(deserved=cpu),
                memory=Deserved(deserved=memory, units="MB"),
            )
        )
    return found


def deserved_of(rows: Rows, resource: str) -> float | None:
    """The sum of what is deserved; None where a part is unlimited."""
    amounts = [_bound(getattr(row, f"{resource}_deserved")) for row in rows]
    known = [amount for amount in amounts if amount is not None]
    return _sum(known) if len(known) == len(amounts) else None


def _resource(row: QuotaRow) -> ResourceShape:
    return ResourceShape(
        node_pool=PoolName(id=str(row.pool_id), name=row.pool),
        gpu=Bounds(
            deserved=_number(row.gpu_deserved),
            limit=_bound(row.gpu_limit),
            over_quota_weight=_number(row.gpu_weight),
        ),
        cpu=Bounds(
            deserved=_bound(row.cpu_deserved),
            limit=_bound(row.cpu_limit),
            over_quota_weight=_number(row.cpu_weight),
        ),
        memory=MemoryBounds(
            deserved=_bound(row.memory_deserved),
            limit=_bound(row.memory_limit),
            over_quota_weight=_number(row.memory_weight),
        ),
        priority=priority_name(row.priority),
    )


def _exact(amount: Stored) -> Decimal:
    return Decimal(str(amount))


@lru_cache(KEPT)
def _number(amount: Stored) -> int | float:
    return as_number(_exact(amount))


@lru_cache(KEPT)
def _bound(amount: Stored) -> int | float | None:
    return as_bound(_exact(amount))


@lru_cache(KEPT)
def _text_number(text: str) -> int | float:
    return as_number(Decimal(text))


_usage = msgspec.json.Decoder(dict[str, dict[str, str]])
_NAMES = {"allocated": "allocated", "allocatedNonPreemptible": "allocated_non_preemptible", "requested": "requested"}


def _held(text: str) -> dict[str, Amounts]:
    """What one queue reported, by kind; a kind that it has not is absent, never 0."""
    if text == "{}":
        return {}
    usage = _usage.decode(text)
    return {
        name: Amounts(
            gpu=_text_number(amounts.get("gpu", "0")),
            cpu=_text_number(amounts.get("cpu", "0")),
            memory=_text_number(amounts.get("memory", "0")),
        )
        for kind, name in _NAMES.items()
        if (amounts := usage.get(kind))
    }


def _together(each: Sequence[dict[str, Amounts]]) -> dict[str, Amounts]:
    """The sums over the pools that have reported."""
    found = {}
    for name in _NAMES.values():
        known = [held[name] for held in each if name in held]
        if known:
            found[name] = Amounts(
                gpu=_sum([held.gpu for held in known]),
                cpu=_sum([held.cpu for held in known]),
                memory=_sum([held.memory for held in known]),
            )
    return found


def _sum(amounts: Sequence[int | float]) -> int | float:
    """Exact: of decimals, where not all are whole."""
    found = sum(amounts)
    return found if isinstance(found, int) else as_number(sum(map(_exact, amounts), Decimal(0)))
