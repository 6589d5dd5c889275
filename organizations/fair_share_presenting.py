"""The fair-share page, ready to be drawn: figures, lines of the table, sentences, pairs, the what-if."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.templatetags.quantities import number
from organizations.fair_share import Board, Row, Totals, board_rows
from organizations.fair_share_words import full_stop, holding_sentence, people, sentence, share_sentence
from organizations.models import Project
from organizations.quota import UNLIMITED

MOST_PAIRS = 20


@dataclass(frozen=True, slots=True)
class Line:
    """A row with what is written in it."""

    row: Row
    label: str
    url: str
    status: str
    state: str
    bar_label: str


def lines_of(board: Board, rows: Sequence[Row]) -> list[Line]:
    """The table."""
    words = {
        "starved": ("wait", _("starved")),
        "borrows": ("", _("borrows")),
        "waits": ("wait", _("waits")),
        "idle": ("", _("idle quota")),
        "content": ("", _("content")),
        "": ("", ""),
    }
    found = []
    for row in rows:
        status, state = words[row.state]
        label = row_label(row)
        bar = _(
            "%(name)s: holds %(held)s, not preemptible %(fixed)s, deserved %(deserved)s, fair share %(fair)s, "
            "asks %(asked)s"
        ) % {
            "name": label,
            "held": number(row.held),
            "fixed": number(row.fixed),
            "deserved": _("unlimited") if row.deserved == UNLIMITED else number(row.deserved),
            "fair": number(row.fair),
            "asked": number(row.asked),
        }
        found.append(Line(row, label, owner_url(row), status, state, bar))
    return found


def row_label(row: Row) -> str:
    """The shown name of a row; of several queues without a name, how many they are."""
    if not row.hidden:
        return row.name.text
    if row.depth:
        return ngettext("another project", "%(n)s other projects", row.hidden) % {"n": row.hidden}
    return ngettext("another department", "%(n)s other departments", row.hidden) % {"n": row.hidden}


def owner_url(row: Row) -> str:
    """The page of the row's owner; "" where there is none, or not for the viewer."""
    owner = row.name.owner
    if owner is None or not row.name.linked:
        return ""
    kind = "project" if isinstance(owner, Project) else "department"
    return reverse(f"organizations:{kind}-detail", args=[owner.pk])


@dataclass(frozen=True, slots=True)
class Said:
    """One queue's sentence."""

    name: str
    url: str
    text: str


def sentences_of(board: Board, resource: str, rows: Sequence[Row]) -> list[Said]:
    """A sentence for every named queue that runs work, those that wait for what others hold first."""
    order = {"starved": 0, "borrows": 1, "waits": 2, "idle": 3, "content": 4}
    leaves = sorted((row for row in rows if row.leaf and row.share and row.holding), key=lambda row: order[row.state])
    return [Said(row.name.text, owner_url(row), sentence_of(board, resource, row)) for row in leaves]


def sentence_of(board: Board, resource: str, row: Row) -> str:
    """The sentence of one named row."""
    assert row.share is not None  # noqa: S101 (rows with a name have both)
    assert row.holding is not None  # noqa: S101 (the same)
    takers, givers = board.claimants(resource, row.queue)
    return sentence(
        share_sentence(row.name.text, resource, row.share),
        holding_sentence(resource, row.holding, takers, givers),
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """A starved queue and one that holds what it is owed."""

    starved: str
    borrower: str
    amount: Decimal
    text: str


def pairs_of(board: Board, resource: str) -> tuple[list[Pair], int]:
    """The largest debts and how many more there are; pairs of which the viewer may name neither are left out."""
    named = [debt for debt in board.shares.debts[resource] if board.name(debt.starved) or board.name(debt.borrower)]
    named.sort(key=lambda debt: (-debt.amount, debt.starved, debt.borrower))
    pairs = []
    for debt in named[:MOST_PAIRS]:
        words = {
            "starved": board.name(debt.starved) or _("another project"),
            "borrower": board.name(debt.borrower) or _("another project"),
        }
        why = _("within its quota") if debt.by_quota else _("within its fair share")
        pairs.append(Pair(words["starved"], words["borrower"], people(resource, debt.amount), why))
    return pairs, max(len(named) - MOST_PAIRS, 0)


def tiles_of(totals: Totals) -> list[dict[str, Any]]:
    """The strip of figures."""
    out = [
        (totals.cordoned, _("%(n)s cordoned")),
        (totals.not_ready, _("%(n)s not ready")),
        (totals.foreign, _("%(n)s of other schedulers")),
    ]
    less = ", ".join(text % {"n": number(amount)} for amount, text in out if amount)
    of = _("of %(n)s") % {"n": number(totals.capacity)}
    return [
        {"label": _("Can be shared"), "value": totals.shared, "sub": f"{of}; {less}" if less else of},
        {"label": _("Deserved"), "value": totals.deserved, "sub": _deserved_note(totals)},
        {
            "label": _("Held"),
            "value": totals.held,
            "sub": _("%(n)s not preemptible") % {"n": number(totals.fixed)},
        },
        {
            "label": _("Asked"),
            "value": totals.asked,
            "sub": _("%(n)s of it waits") % {"n": number(max(totals.asked - totals.held, Decimal(0)))},
        },
        {
            "label": _("Free"),
            "value": totals.free,
            "sub": _("%(n)s of quota lie idle") % {"n": number(totals.idle_quota)},
        },
    ]


def _deserved_note(totals: Totals) -> str:
    if totals.oversubscribed:
        return _("%(n)s more than there is: guarantees cannot all hold") % {
            "n": number(totals.deserved - totals.shared)
        }
    if totals.unlimited:
        return ngettext("and %(n)s unlimited queue", "and %(n)s unlimited queues", totals.unlimited) % {
            "n": totals.unlimited
        }
    return _("fits, so guarantees hold")


@dataclass(frozen=True, slots=True)
class Compared:
    """A queue of the what-if: what it gets now and would get."""

    label: str
    queue: str
    deserved: Decimal
    weight: Decimal | None
    fair: Decimal
    would: Decimal
    depth: int
    given_deserved: str
    given_weight: str
    priority: int | None
    given_priority: str

    @property
    def change(self) -> Decimal:
        """By how much its share would move."""
        return self.would - self.fair


def compared(now: Sequence[Row], then: Board, resource: str, given: Any) -> list[Compared]:
    """Both divisions beside each other, in the order of the table."""
    would = {(row.queue, row.depth, row.hidden): row for row in board_rows(then, resource)}
    return [
        Compared(
            label=row_label(row),
            queue=row.queue,
            deserved=row.deserved,
            weight=row.weight,
            fair=row.fair,
            would=would[row.queue, row.depth, row.hidden].fair
            if (row.queue, row.depth, row.hidden) in would
            else row.fair,
            depth=row.depth,
            given_deserved=given.get(f"deserved.{row.queue}", ""),
            given_weight=given.get(f"weight.{row.queue}", ""),
            priority=row.priority,
            given_priority=given.get(f"priority.{row.queue}", ""),
        )
        for row in now
    ]


def notices_of(board: Board) -> list[str]:
    """What is wrong with the queues, and what the page cannot know."""
    found = []
    if board.shares.dropped and any(map(board.name, board.shares.dropped)):
        found.append(
            _("The scheduler leaves out queues whose parent is missing: %(names)s")
            % {"names": ", ".join(filter(None, map(board.name, board.shares.dropped)))}
        )
    if board.shares.cyclic:
        found.append(_("Queues are each other’s parent; the scheduler of the whole cluster stops on them"))
    if board.shard.unreadable:
        found.append(_("The scheduler cannot read some objects and decides nothing until they are mended"))
    return [full_stop(text) for text in found]
