"""The what-if of the fair-share page and API: other totals, quotas, weights and priorities; nothing is saved."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from core.errors import Fault, InvalidInput
from core.words import gettext as _
from organizations.fair_share import Board
from organizations.fair_share_words import SCALES
from organizations.quota import HIGHEST_PRIORITY, UNLIMITED, read_amount, read_weight
from scheduling.shares_holdings import Changes

PREFIXES = ("deserved", "limit", "weight")
PRIORITY = "priority"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What was asked for, as text by field (`total`, `deserved.<queue>`, …), what of it differs, what is wrong."""

    given: Mapping[str, str]
    changes: Changes
    faults: tuple[Fault, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs from what is there."""
        changes = self.changes
        return not (changes.totals or changes.quotas or changes.limits or changes.weights or changes.priorities)


def read_what_if(fields: Mapping[str, str], board: Board, resource: str) -> WhatIf:
    """Fields of a query: `total`, and `deserved.`, `limit.`, `weight.` and `priority.` with a queue's name; others are
    ignored.

    A queue that the viewer may not name is unknown, as one that does not exist.
    """
    given = {key: text.strip() for key, text in fields.items() if text.strip() and _is_field(key)}
    faults: list[Fault] = []
    found: dict[str, dict[tuple[str, str], float]] = {prefix: {} for prefix in PREFIXES}
    totals: dict[str, float] = {}
    priorities: dict[str, int] = {}
    for key, text in given.items():
        prefix, _dot, queue = key.partition(".")
        try:
            if prefix == PRIORITY:
                _check_queue(board, key, queue)
                priorities[queue] = _priority(text, key)
                continue
            amount = read_weight(text, key, text=True) if prefix == "weight" else read_amount(text, key, text=True)
            if prefix == "total":
                totals[resource] = _total(amount, resource)
            else:
                _check_queue(board, key, queue)
                found[prefix][queue, resource] = _engine(amount, resource if prefix != "weight" else "gpu")
        except InvalidInput as error:
            faults += error.faults
    quotas, limits, weights = (_differing(board, resource, found, prefix) for prefix in PREFIXES)
    shares = board.division(resource).shares
    others = {queue: value for queue, value in priorities.items() if shares[queue].claim.priority != value}
    changes = Changes(_other(board, resource, totals), quotas, limits, weights, others)
    return WhatIf(given, changes, tuple(faults))


def _is_field(key: str) -> bool:
    return key == "total" or key.partition(".")[0] in (*PREFIXES, PRIORITY)


def _priority(text: str, key: str) -> int:
    """A queue's priority, as Queue objects hold it."""
    found = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else HIGHEST_PRIORITY + 1
    if found > HIGHEST_PRIORITY:
        raise InvalidInput.of(key, _("The priority is out of range"), f"0 – {HIGHEST_PRIORITY}")
    return found


def _check_queue(board: Board, key: str, queue: str) -> None:
    if not board.name(queue):
        raise InvalidInput.of(key, _("There is no such queue in this pool"))


def _total(amount: Decimal, resource: str) -> float:
    if amount == UNLIMITED:
        raise InvalidInput.of("total", _("A total cannot be unlimited"), _("a number from 0"))
    return float(amount * SCALES[resource])


def _engine(amount: Decimal, resource: str) -> float:
    return -1.0 if amount == UNLIMITED else float(amount * SCALES[resource])


def _other(board: Board, resource: str, totals: Mapping[str, float]) -> dict[str, float]:
    return {name: amount for name, amount in totals.items() if amount != getattr(board.shares.total, resource)}


def _differing(
    board: Board, resource: str, found: Mapping[str, Mapping[tuple[str, str], float]], prefix: str
) -> dict[tuple[str, str], float]:
    shares = board.division(resource).shares
    return {key: amount for key, amount in found[prefix].items() if getattr(shares[key[0]].claim, prefix) != amount}
