"""Pages of long lists whose rows are wide or dear to annotate: the ids of a page first, then the rows of those ids,
since a database computes whole rows before it sorts them."""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def keys_of(page: "QuerySet[Any]") -> list[Any]:
    """The ids of a sorted and sliced queryset. 1 query."""
    return list(page.values_list("pk", flat=True))


def rows_of(rows: "QuerySet[Row]", keys: Sequence[Any]) -> list[Row]:
    """The rows with these ids in this order; those that are gone or not among `rows` are left out. 1 query."""
    found = rows.order_by().in_bulk(keys)
    return [found[key] for key in keys if key in found]
