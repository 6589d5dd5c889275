"""Fair share in words: one sentence per queue and resource, in the viewer's language.

Every number of a sentence is rounded so that its parts add up: guaranteed + beyond = what the queue gets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from babel.lists import format_list
from django.utils.translation import get_language, ngettext, to_locale
from django.utils.translation import gettext as _

from core.templatetags.quantities import number
from scheduling.shares import Bound, Share
from scheduling.shares_holdings import Holding

# Divisors from the engine's units to those of people: devices, cores, GB (10^9 bytes).
SCALES: Mapping[str, Decimal] = {"gpu": Decimal(1), "cpu": Decimal(1000), "memory": Decimal(10) ** 9}
# What they are rounded to: fractions of GPUs are as exact as quotas, cores and GB to three decimals.
_STEPS: Mapping[str, Decimal] = {"gpu": Decimal("1e-6"), "cpu": Decimal("1e-3"), "memory": Decimal("1e-3")}


@dataclass(frozen=True, slots=True)
class Claimant:
    """Another queue of a debt: its name ("" where the viewer may not know it), what of the debt is its own, and
    what it waits for."""

    name: str
    amount: Decimal
    waits: Decimal


class _Words(dict[str, Decimal | str]):
    """The words of a sentence; amounts are written when the sentence asks for them."""

    def __getitem__(self, key: str) -> str:
        value = super().__getitem__(key)
        return value if isinstance(value, str) else number(value)


def people(resource: str, amount: float) -> Decimal:
    """An engine's amount in the unit of people, rounded as sentences show it; −1 is not treated apart."""
    return (Decimal(repr(float(amount))) / SCALES[resource]).quantize(_STEPS[resource]) + 0


def share_sentence(name: str, resource: str, share: Share) -> str:
    """What the queue gets, of what parts, and what keeps it from more, without a full stop."""
    fair, guaranteed = people(resource, share.fair), people(resource, share.guaranteed)
    asked = people(resource, share.claim.request)
    words = _Words(
        name=name,
        fair=fair,
        total=people(resource, share.total),
        guaranteed=guaranteed,
        over=fair - guaranteed,
        unused=people(resource, share.unused),
        earlier=people(resource, share.earlier),
        odd=people(resource, share.odd),
        extra=fair - asked,
        asked=asked,
        limit=people(resource, share.claim.limit),
        weight=Decimal(repr(float(share.claim.weight))),
        weights=Decimal(repr(float(share.weights))),
    )
    gets = {
        "gpu": _("%(name)s gets %(fair)s of %(total)s GPUs"),
        "cpu": _("%(name)s gets %(fair)s of %(total)s CPU cores"),
        "memory": _("%(name)s gets %(fair)s of %(total)s GB of memory"),
    }[resource]
    how = _parts(share, odd=people(resource, share.odd) > 0)
    first = then(gets, how) if how else gets
    return after(first, _bound(share, more=fair > asked)) % words


def _parts(share: Share, *, odd: bool) -> str:
    if share.over_quota <= 0:
        return _("all of it guaranteed") if share.fair > 0 else ""
    if odd:
        return _(
            "%(guaranteed)s guaranteed and %(over)s of %(unused)s unused, at weight %(weight)s of %(weights)s, "
            "the odd %(odd)s included"
        )
    return _("%(guaranteed)s guaranteed and %(over)s of %(unused)s unused, at weight %(weight)s of %(weights)s")


def _bound(share: Share, *, more: bool) -> str:
    if share.bound is Bound.HAS_ALL and more:
        return _("that is %(extra)s more than it asks for, because what is left over is given in whole units")
    return _BOUNDS[share.bound]()


_BOUNDS: Mapping[Bound, Callable[[], str]] = {
    Bound.ASKS_NOTHING: lambda: _("it asks for nothing"),
    Bound.HAS_ALL: lambda: _("that is all it asks for"),
    Bound.LIMIT: lambda: _("it asks for %(asked)s, and its limit is %(limit)s"),
    Bound.NOTHING_UNUSED: lambda: _("it asks for %(asked)s, but the quotas leave nothing unused"),
    Bound.NO_WEIGHT: lambda: _("it asks for %(asked)s, but its weight is %(weight)s"),
    Bound.HIGHER_PRIORITY: lambda: _(
        "it asks for %(asked)s, but higher priorities take %(earlier)s of %(unused)s unused first"
    ),
    Bound.USAGE: lambda: _("it asks for %(asked)s, but what it used before takes its weight away"),
    Bound.OTHERS: lambda: _("it asks for %(asked)s"),
}


def holding_sentence(resource: str, holding: Holding, takers: Sequence[Claimant], givers: Sequence[Claimant]) -> str:
    """What it holds against its share, without a full stop; "" where it neither holds nor waits.

    `takers`: who may reclaim from it; `givers`: from whom it may reclaim, the largest first.
    """
    held, waits = people(resource, holding.held), people(resource, holding.waits)
    if not (held or waits):
        return ""
    words = {"held": number(held), "waits": number(waits), "borrowed": number(people(resource, holding.borrowed))}
    if takers:
        loose = people(resource, holding.held - holding.fixed)
        amount = min(loose, sum((each.amount for each in takers), Decimal(0)))
        words |= {"amount": number(amount), "who": names_of(takers), "theirs": number(sum(t.waits for t in takers))}
        return _taken(len(takers)) % words
    if holding.borrowed > 0 and words["borrowed"] != "0":
        return _("it holds %(held)s, %(borrowed)s above its share, and nobody waits who could reclaim it") % words
    return _waiting(resource, holding, givers) % words


def _taken(count: int) -> str:
    return ngettext(
        "it holds %(held)s, so %(amount)s can be reclaimed by %(who)s, which waits for %(theirs)s",
        "it holds %(held)s, so %(amount)s can be reclaimed by %(who)s, which wait for %(theirs)s",
        count,
    )


def _waiting(resource: str, holding: Holding, givers: Sequence[Claimant]) -> str:
    if not people(resource, holding.waits):
        return _("it holds %(held)s and waits for nothing")
    if not people(resource, holding.owed):
        return _("it holds %(held)s and waits for %(waits)s, which is beyond its share")
    if not givers:
        return _("it holds %(held)s and waits for %(waits)s, and nobody borrows it: something else stops it")
    owed = min(people(resource, holding.owed), sum((each.amount for each in givers), Decimal(0)))
    words = {"amount": number(owed), "who": names_of(givers)}
    text = _("it holds %(held)s and waits for %(waits)s, of which {amount} can be reclaimed from {who}")
    return text.replace("{amount}", words["amount"]).replace("{who}", words["who"].replace("%", "%%"))


def names_of(claimants: Sequence[Claimant]) -> str:
    """Their names as a list of words; those without a name are counted at the end."""
    names = [each.name for each in claimants if each.name]
    hidden = len(claimants) - len(names)
    if hidden:
        names.append(ngettext("another project", "%(n)s other projects", hidden) % {"n": hidden})
    return str(format_list(names, locale=to_locale(get_language() or "en")))


def sentence(*clauses: str) -> str:
    """Clauses as one sentence; empty ones are left out."""
    kept = [clause for clause in clauses if clause]
    whole = kept[0]
    for clause in kept[1:]:
        whole = after(whole, clause)
    return full_stop(whole)


def then(first: str, rest: str) -> str:
    """A statement and what it consists of."""
    return _("{first}: {rest}").replace("{first}", first).replace("{rest}", rest)


def after(first: str, rest: str) -> str:
    """A statement and the next one."""
    return _("{first}; {rest}").replace("{first}", first).replace("{rest}", rest)


def full_stop(text: str) -> str:
    """A whole sentence."""
    return _("{text}.").replace("{text}", text)
