"""Which rows stand in the way of a delete, found through the relations that protect their target.

Packages above declare `on_delete=PROTECT`; nothing here needs to know them.
"""

from django.db import models

from core.errors import Blocker


def protecting_rows(row: models.Model) -> list[Blocker]:
    """Rows that protect `row` from deletion, with the name of their kind, in natural order of kinds and names."""
    found: list[Blocker] = []
    for relation in row._meta.related_objects:
        if relation.on_delete is models.PROTECT:
            rows = relation.related_model._default_manager.filter(**{relation.field.name: row.pk})
            found += [Blocker(str(relation.related_model._meta.verbose_name), str(other)) for other in rows]
    return sorted(found, key=lambda blocker: (blocker.kind, blocker.name))
