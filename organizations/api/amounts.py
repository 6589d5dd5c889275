"""Run:ai's Resources block of a department or project (runai.md §5), both ways.

null is "no limit" for limits and for deserved CPU and memory; a GPU's deserved amount is never null. Memory comes in
Mib, MB or GB and is kept in MB.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from clusters.models import Cluster
from core.api.bodies import check_keys
from core.errors import Fault, InvalidInput
from organizations.quota import (
    MEMORY_UNITS,
    PLACES,
    RESOURCES,
    UNLIMITED,
    read_amount,
    read_weight,
)
from organizations.services import QuotaInput
from topology.models import NodePool

PRIORITIES: Mapping[str, int] = {"Low": 50, "Normal": 100, "High": 150}
_PRIORITY_NAMES = {value: name for name, value in PRIORITIES.items()}
DEFAULT_PRIORITY = "Normal"
DEFAULT_WEIGHT = Decimal(1)

_AMOUNT_KEYS = ("deserved", "limit", "overQuotaWeight")
_KEYS = ("nodePool", "gpu", "cpu", "memory", "priority")


def read_resources(items: Any, cluster: Cluster) -> list[QuotaInput]:
    """The list of a body. Raises `InvalidInput` with every fault and its place (`resources[0].gpu.limit`)."""
    if not isinstance(items, list):
        raise InvalidInput.of("resources", "A list is required", "one entry a node pool")
    pools = {pool.pk: pool for pool in NodePool.objects.filter(cluster=cluster)}
    faults: list[Fault] = []
    inputs = []
    for index, item in enumerate(items):
        try:
            inputs.append(_read_item(item, f"resources[{index}]", pools))
        except InvalidInput as error:
            faults.extend(error.faults)
    if faults:
        raise InvalidInput(faults)
    return inputs


def _read_item(item: Any, place: str, pools: Mapping[int, NodePool]) -> QuotaInput:
    if not isinstance(item, dict):
        raise InvalidInput.of(place, "An object is required", ", ".join(_KEYS))
    unknown = [key for key in item if key not in _KEYS]
    if unknown:
        raise InvalidInput.of(f"{place}.{unknown[0][:60]}", "There is no such field", ", ".join(_KEYS))
    amounts: dict[str, Decimal] = {}
    for resource in RESOURCES:
        amounts |= _read_amounts(item.get(resource), resource, f"{place}.{resource}")
    return QuotaInput(_pool(item.get("nodePool"), place, pools), amounts, _priority(item.get("priority"), place))


def _pool(given: Any, place: str, pools: Mapping[int, NodePool]) -> NodePool:
    """By id; by name where only that is given; the default pool where nothing is."""
    if not isinstance(given, dict | None):
        raise InvalidInput.of(f"{place}.nodePool", "An object is required", "id, name")
    given = given or {}
    id_, name = given.get("id"), given.get("name")
    if id_ in (None, ""):
        found = next((pool for pool in pools.values() if pool.name == ("default" if name is None else name)), None)
    else:
        text = str(id_)
        found = pools.get(int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else None
    if found is None:
        allowed = ", ".join(f"{pool.pk} ({pool.name})" for pool in pools.values())
        field = "name" if id_ in (None, "") else "id"
        raise InvalidInput.of(f"{place}.nodePool.{field}", "There is no such node pool", allowed)
    if name not in (None, found.name):
        raise InvalidInput.of(f"{place}.nodePool.name", f"The node pool {found.pk} has another name", found.name)
    return found


def _priority(value: Any, place: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and value in PRIORITIES:
        return PRIORITIES[value]
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise InvalidInput.of(
        f"{place}.priority", "There is no such priority", ", ".join([*PRIORITIES, "a number as text"])
    )


def _read_amounts(given: Any, resource: str, place: str) -> dict[str, Decimal]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InvalidInput.of(place, "An object is required", "deserved, limit, overQuotaWeight")
    check_keys(given, _AMOUNT_KEYS + (("units",) if resource == "memory" else ()), place=place)
    factor = _factor(given.get("units"), place) if resource == "memory" else Decimal(1)
    found: dict[str, Decimal] = {}
    if "deserved" in given:
        value = given["deserved"]
        if value is None and resource == "gpu":
            raise InvalidInput.of(f"{place}.deserved", "null is no amount of GPUs", "unlimited (−1), or 0 and more")
        found[f"{resource}_deserved"] = _amount(value, f"{place}.deserved", factor)
    if "limit" in given:
        found[f"{resource}_limit"] = _amount(given["limit"], f"{place}.limit", factor)
    if "overQuotaWeight" in given:
        weight = given["overQuotaWeight"]
        found[f"{resource}_weight"] = (
            DEFAULT_WEIGHT if weight is None else read_weight(weight, f"{place}.overQuotaWeight")
        )
    return found


def _factor(units: Any, place: str) -> Decimal:
    if units is None:
        return MEMORY_UNITS["MB"]
    if not isinstance(units, str) or units not in MEMORY_UNITS:
        raise InvalidInput.of(f"{place}.units", "There is no such unit", ", ".join(MEMORY_UNITS))
    return MEMORY_UNITS[units]


def _amount(value: Any, field: str, factor: Decimal) -> Decimal:
    if value is None:
        return UNLIMITED
    amount = read_amount(value, field)
    return amount if amount == UNLIMITED else round(amount * factor, PLACES)


def priority_name(value: int) -> str:
    """The name of a priority, or the number as text."""
    return _PRIORITY_NAMES.get(value) or str(value)
