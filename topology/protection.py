"""Which rows stand in the way of a delete, found through the relations that protect their target.

Packages above declare `on_delete=PROTECT`; nothing here needs to know them.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.utils.translation import ngettext

from accounts.models import User
from accounts.permissions import ScopedQuerySet
from core.errors import Blocker

MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Protection:
    """What stands in the way, as somebody may know it: rows with the name of their kind, in natural order of kinds and
    names, and how many others there are."""

    seen: tuple[Blocker, ...]
    hidden: int

    def __bool__(self) -> bool:
        return bool(self.seen or self.hidden)

    @property
    def objects(self) -> list[str]:
        """The names of those that may be seen."""
        return [blocker.name for blocker in self.seen]

    @property
    def hidden_words(self) -> list[str]:
        """That there are others; empty where there is none."""
        text = ngettext("%(n)d that you may not see", "%(n)d that you may not see", self.hidden)
        return [text % {"n": self.hidden}] if self.hidden else []

    @property
    def names(self) -> str:
        """For a sentence."""
        return ", ".join([*self.objects[:MOST_NAMED], *self.hidden_words])


def protection_of(row: models.Model, viewer: User | AnonymousUser) -> Protection:
    """What protects `row` from deletion, as `viewer` may know it."""
    seen: list[Blocker] = []
    hidden = 0
    for rows in _protecting(row):
        visible = rows.visible_to(viewer)
        seen += [Blocker(_kind(rows), str(other)) for other in visible]
        hidden += rows.exclude(pk__in=visible.values("pk")).count()
    return Protection(tuple(sorted(seen, key=lambda blocker: (blocker.kind, blocker.name))), hidden)


def protecting_kinds(row: models.Model) -> list[str]:
    """How many rows of which kind protect `row`, for who is not told names: `workload (2)`."""
    counts = Counter({_kind(rows): rows.count() for rows in _protecting(row)})
    return [f"{kind} ({count})" for kind, count in sorted(counts.items()) if count]


def _protecting(row: models.Model) -> list[ScopedQuerySet[Any]]:
    relations: list[Any] = [each for each in row._meta.related_objects if each.on_delete is models.PROTECT]
    return [each.related_model._default_manager.filter(**{each.field.name: row.pk}) for each in relations]


def _kind(rows: ScopedQuerySet[Any]) -> str:
    return str(rows.model._meta.verbose_name)
