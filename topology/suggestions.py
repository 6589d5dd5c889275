"""Proposes levels and their order from node labels, and reads what people paste. Pure.

A level may stand above another where each value of the narrower lies in one value of the broader (containment).
KAI and Run:ai store levels broadest (farthest) first; many guides list them near to far.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise

from clusters.names import HOSTNAME_LABEL, NODE_POOL_LABEL

MAX_LEVELS = 16

# Words at the end of a label key that name a place, broadest first.
PLACE_WORDS = (
    "region", "zone", "datacenter", "dc", "building", "hall", "room", "spine", "superpod", "pod", "block", "row",
    "leaf", "rack", "chassis", "nvswitch", "nvlink", "clique", "switch", "host", "hostname", "numa",
)  # fmt: skip
_RANK = {word: rank for rank, word in enumerate(PLACE_WORDS)}
_SEPARATORS = re.compile(r"\s*(?:→|⟶|➜|->|=>|›|»|>|,|;|\n|、|，)\s*")
_NUMBERING = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):]?)\s+")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a tree needs of one node. GPU counts in devices: `gpus` is capacity, `unhealthy` = capacity − allocatable.

    `pool` is the name of the node pool whose label it carries; `usable` is False where it is cordoned or not ready;
    `id` is that of its page.
    """

    name: str
    labels: Mapping[str, str]
    gpus: int = 0
    allocated: Decimal = Decimal(0)
    unhealthy: int = 0
    usable: bool = True
    pool: str = "default"
    id: str = ""


class KeyUse(StrEnum):
    """What a label key is good for as a level."""

    PLACE = "place"
    HOSTNAME = "hostname"
    SINGLE = "single"  # one value on all nodes: adds no level
    POOL = "pool"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CandidateKey:
    """A label key found on nodes. `nodes` carry it with a value, `empty` with the value "", of `total` nodes.

    `inside` is the broader proposed key in one value of which each value of this key lies, if any.
    """

    key: str
    use: KeyUse
    nodes: int
    empty: int
    total: int
    values: int
    examples: tuple[str, ...]
    inside: str = ""

    @property
    def covers_all(self) -> bool:
        """Whether every node carries it with a value."""
        return self.nodes == self.total


class Order(StrEnum):
    """How a list of levels runs."""

    BROADEST_FIRST = "broadest-first"
    NEAR_TO_FAR = "near-to-far"
    UNCLEAR = "unclear"


def candidate_keys(
    nodes: Sequence[NodeFacts], *, pool_keys: Iterable[str] = (), proposed: Sequence[str] | None = None
) -> tuple[CandidateKey, ...]:
    """Every label key of the nodes, those that can be a level first, broadest first; the rest by name.

    `pool_keys`: label keys of node pools, which are no places. `proposed`: what `propose_levels` said of the nodes.
    """
    counts = _counts(nodes)
    proposed = propose_levels(nodes) if proposed is None else proposed
    pools = {NODE_POOL_LABEL, *pool_keys}
    found = [_candidate(key, counts[key], len(nodes), pools, proposed) for key in counts]
    place = {key: position for position, key in enumerate(proposed)}
    return tuple(sorted(found, key=lambda c: (place.get(c.key, 99), _USE_ORDER[c.use], _rank(c.key), c.key)))


def _counts(nodes: Iterable[NodeFacts]) -> dict[str, Counter[str]]:
    """Of each label key, how often each value occurs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        for key, value in node.labels.items():
            counts[key][value] += 1
    return counts


_USE_ORDER = {use: order for order, use in enumerate(KeyUse)}


def _candidate(key: str, values: Counter[str], total: int, pools: set[str], proposed: Sequence[str]) -> CandidateKey:
    empty = values.get("", 0)
    named = sorted((value for value in values if value), key=natural)
    use = _use(key, len(named), pools)
    position = proposed.index(key) if key in proposed else 0
    return CandidateKey(
        key=key,
        use=use,
        nodes=sum(values.values()) - empty,
        empty=empty,
        total=total,
        values=len(named),
        examples=tuple(named[:3]),
        inside=proposed[position - 1] if position else "",
    )


def _use(key: str, values: int, pools: set[str]) -> KeyUse:
    if key == HOSTNAME_LABEL:
        return KeyUse.HOSTNAME
    if key in pools:
        return KeyUse.POOL
    if _rank(key) is _NO_PLACE or key.startswith(("beta.", "failure-domain.beta.")):
        return KeyUse.OTHER
    return KeyUse.SINGLE if values <= 1 else KeyUse.PLACE


def propose_levels(nodes: Sequence[NodeFacts]) -> tuple[str, ...]:
    """The levels to propose, broadest first, the host name last.

    Place keys with more than one value on at least half of the nodes, ordered by containment and number of values; a
    key of which many values lie under two parents is left out.
    """
    places = {key: found for key, found in _counts(nodes).items() if _use(key, 2, {NODE_POOL_LABEL}) is KeyUse.PLACE}
    values = {key: Counter({value: n for value, n in found.items() if value}) for key, found in places.items()}
    keys = [key for key, found in values.items() if len(found) > 1 and sum(found.values()) * 2 >= len(nodes)]
    chain: list[str] = []
    for key in sorted(keys, key=lambda key: (len(values[key]), _rank(key), key)):
        if not chain or _may_follow(nodes, chain[-1], key):
            chain.append(key)
    if any(node.labels.get(HOSTNAME_LABEL) for node in nodes):
        chain = [*chain[: MAX_LEVELS - 1], HOSTNAME_LABEL]
    return tuple(chain[:MAX_LEVELS])


def _may_follow(nodes: Sequence[NodeFacts], broad: str, narrow: str) -> bool:
    """Whether nearly every value of `narrow` lies in one value of `broad` (one typo must not hide a level), or the
    words say so and the names are merely used again in each broader domain (r1 in every zone)."""
    parents = parents_of(nodes, broad, narrow)
    strays = sum(1 for found in parents.values() if len(found) > 1)
    if strays <= max(1, len(parents) // 10) and strays < len(parents):
        return True
    return _rank(broad) < _rank(narrow) < _NO_PLACE


def parents_of(nodes: Iterable[NodeFacts], broad: str, narrow: str) -> dict[str, Counter[str]]:
    """For each value of `narrow`, the values of `broad` on its nodes, counted; nodes without either are skipped."""
    parents: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        inner, outer = node.labels.get(narrow), node.labels.get(broad)
        if inner and outer:
            parents[inner][outer] += 1
    return dict(parents)


def order_of(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Order:
    """How `levels` runs, judged from the nodes; where they say nothing, from the words in the keys."""
    if len(levels) < 2:
        return Order.UNCLEAR
    forward, backward = _strays_of(levels, nodes), _strays_of(levels[::-1], nodes)
    if forward != backward:
        return Order.BROADEST_FIRST if forward < backward else Order.NEAR_TO_FAR
    return _order_in_words(levels)


def is_surely_near_to_far(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> bool:
    """Whether the nodes leave no doubt: turned round, every value lies in one broader value, as it is, some do not, and
    the words in the keys do not say otherwise (two zones that call their one rack `rack1` are in good order)."""
    turned = levels[::-1]
    clean = _strays_of(turned, nodes) == 0 < _strays_of(levels, nodes)
    return clean and _order_in_words(levels) is not Order.BROADEST_FIRST


def _order_in_words(levels: Sequence[str]) -> Order:
    ranks = [rank for key in levels if (rank := _rank(key)) is not _NO_PLACE]
    if len(ranks) > 1 and len(set(ranks)) == len(ranks):
        if ranks == sorted(ranks):
            return Order.BROADEST_FIRST
        if ranks == sorted(ranks, reverse=True):
            return Order.NEAR_TO_FAR
    return Order.UNCLEAR


def _strays_of(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Fraction:
    return sum((_strays(nodes, broad, narrow) for broad, narrow in pairwise(levels)), Fraction(0))


def _strays(nodes: Sequence[NodeFacts], broad: str, narrow: str) -> Fraction:
    """Share of the values of `narrow` that lie under more than one value of `broad`."""
    parents = parents_of(nodes, broad, narrow)
    return Fraction(sum(1 for found in parents.values() if len(found) > 1), max(1, len(parents)))


def read_pasted_levels(text: str, known_keys: Iterable[str] = ()) -> tuple[str, ...]:
    """Label keys from pasted text: lines, commas or arrows; numbering, quotes and `=value` are dropped.

    A bare word (`rack`) becomes the known key that ends with it (`topology.kubernetes.io/rack`), where there is one. A
    key that is there twice comes twice.
    """
    keys: list[str] = []
    known = sorted(known_keys)
    for part in _SEPARATORS.split(text[:20_000]):
        key = _NUMBERING.sub("", part).strip().strip("\"'`“”‘’").partition("=")[0].strip()
        if key:
            keys.append(_known_key(key, known))
    return tuple(keys)


def _known_key(word: str, known: Sequence[str]) -> str:
    if "/" in word or word in known:
        return word
    ending = [key for key in known if key.rpartition("/")[2].lower() == word.lower()]
    if word.lower() in ("node", "host", "hostname") and not ending:
        return HOSTNAME_LABEL
    preferred = [key for key in ending if key.startswith("topology.kubernetes.io/")]
    return (preferred or ending or [word])[0]


_NO_PLACE = len(PLACE_WORDS)


def _rank(key: str) -> int:
    """Position of the key's last word among the places, broadest 0; `_NO_PLACE` where it names none."""
    words = re.split(r"[-_.]", key.rpartition("/")[2].lower())
    return next((_RANK[word] for word in reversed(words) if word in _RANK), _NO_PLACE)


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that counts: gpu-2 before gpu-10."""
    return tuple(
        (1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d{1,18})", text) if part
    )
