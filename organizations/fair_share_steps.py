"""The division step by step, in words: what can be shared, the quotas, the rounds by weight, the odd units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.templatetags.quantities import number
from organizations.fair_share import Board, Totals
from organizations.fair_share_words import people
from scheduling.fairshare import Gift
from scheduling.shares import LevelSteps, Round

MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered step: what it comes to, and how, a line each."""

    title: str
    amount: str
    lines: tuple[str, ...]


def steps_of(board: Board, resource: str, totals: Totals) -> list[Step]:
    """All steps, level by level, top first."""
    steps = [Step(_("What can be shared"), number(totals.shared), tuple(_left_out(totals)))]
    for level in board.division(resource).levels:
        steps += _level(board, resource, level)
    return steps


def _left_out(totals: Totals) -> Iterator[str]:
    yield _("%(n)s on the nodes of the pool") % {"n": number(totals.capacity)}
    parts = (
        (totals.cordoned, _("less %(n)s on cordoned nodes")),
        (totals.not_ready, _("less %(n)s on nodes that are not ready")),
        (totals.foreign, _("less %(n)s held by pods of other schedulers")),
    )
    for amount, text in parts:
        if amount:
            yield text % {"n": number(amount)}


def _level(board: Board, resource: str, level: LevelSteps) -> Iterator[Step]:
    def amount(value: float) -> str:
        return number(people(resource, value))

    def shown(queue: str) -> str:
        return board.name(queue) or _("another queue")

    inside = _("inside %(name)s") % {"name": shown(level.parent)} if level.parent else _("at the top")
    given = [f"{shown(gift.uid)} {amount(gift.amount)}" for gift in level.quotas if gift.amount]
    title = _("Quota first, %(where)s") % {"where": inside}
    if level.granted > level.total:
        given.append(_("the quotas grant more than the %(n)s there are") % {"n": amount(level.total)})
    yield Step(title, amount(level.granted), _cut(given))
    for each in level.rounds:
        yield _round(each, inside, amount, shown)
    if level.remainders:
        yield _odd(level.remainders, inside, amount, shown)


Say = Callable[[float], str]
Name = Callable[[str], str]


def _round(each: Round, inside: str, amount: Say, shown: Name) -> Step:
    title = _("%(n)s left over by weight, %(where)s") % {"n": amount(each.pot), "where": inside}
    lines = [_("priority %(priority)s, round %(n)s") % {"priority": each.priority, "n": each.number + 1}]
    for gift in each.gifts:
        words = {
            "name": shown(gift.uid),
            "given": amount(gift.amount),
            "part": amount(gift.part),
            "share": number(Decimal(repr(gift.weight / gift.weights)), 3) if gift.weights else "0",
        }
        if gift.amount >= gift.part:
            lines.append(_("%(name)s: %(share)s of it is %(part)s") % words)
        else:
            lines.append(_("%(name)s: %(share)s of it is %(part)s, it gets %(given)s") % words)
    return Step(title, amount(sum(gift.amount for gift in each.gifts)), _cut(lines))


def _odd(gifts: tuple[Gift, ...], inside: str, amount: Say, shown: Name) -> Step:
    title = _("Odd units by the larger remainder, then the older queue, %(where)s") % {"where": inside}
    lines = [
        _("%(name)s: remainder %(part)s, it gets %(given)s")
        % {"name": shown(gift.uid), "part": amount(gift.part), "given": amount(gift.amount)}
        for gift in gifts
    ]
    return Step(title, amount(sum(gift.amount for gift in gifts)), _cut(lines))


def _cut(lines: list[str]) -> tuple[str, ...]:
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    more = len(lines) - MOST_LINES
    return (*lines[:MOST_LINES], ngettext("and %(n)s more", "and %(n)s more", more) % {"n": more})
