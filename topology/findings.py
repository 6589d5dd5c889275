"""What is wrong with a list of levels on given nodes, each finding with the nodes and values concerned. Pure.

`topology.wording` says them in the viewer's language.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from clusters.names import HOSTNAME_LABEL
from topology.suggestions import NodeFacts, Order, natural, order_of, parents_of


class Code(StrEnum):
    """What a finding says."""

    KEY_ON_NO_NODE = "key-on-no-node"
    REVERSED = "reversed-order"
    MISORDERED = "broader-level-below"
    HOSTNAME_NOT_LAST = "hostname-not-last"
    MISSING_LABEL = "missing-label"
    MISSING_LABEL_NO_GPU = "missing-label-no-gpu"
    EMPTY_VALUE = "empty-value"
    TWO_PARENTS = "value-under-two-parents"
    CASE = "values-differ-by-case"
    TYPO = "values-differ-by-one-character"
    REUSED = "names-used-in-each-parent"
    SINGLE_VALUE = "one-value-only"
    ORDER_OK = "order-is-right"
    VALUES_OK = "values-are-clean"


class Severity(StrEnum):
    """How a finding is shown; the names are the console's statuses."""

    BAD = "bad"
    WAIT = "wait"
    INFO = "info"
    OK = "ok"


SEVERITIES = {
    Code.KEY_ON_NO_NODE: Severity.BAD,
    Code.REVERSED: Severity.BAD,
    Code.MISORDERED: Severity.BAD,
    Code.HOSTNAME_NOT_LAST: Severity.BAD,
    Code.TWO_PARENTS: Severity.WAIT,
    Code.MISSING_LABEL: Severity.WAIT,
    Code.EMPTY_VALUE: Severity.WAIT,
    Code.CASE: Severity.WAIT,
    Code.TYPO: Severity.WAIT,
    Code.REUSED: Severity.INFO,
    Code.SINGLE_VALUE: Severity.INFO,
    Code.MISSING_LABEL_NO_GPU: Severity.INFO,
    Code.ORDER_OK: Severity.OK,
    Code.VALUES_OK: Severity.OK,
}


@dataclass(frozen=True, slots=True)
class Fix:
    """A kubectl line that labels one node; `value` is a guess from its neighbours, empty where there is none."""

    node: str
    key: str
    value: str
    neighbours: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command to paste into a shell; an unknown value is left as `<value>` for the person to fill in."""
        value = shlex.quote(self.value) if self.value else "<value>"
        return f"kubectl label nodes {shlex.quote(self.node)} {shlex.quote(self.key)}={value} --overwrite"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about the levels. `key` is the level, `other` the level above it where two are compared."""

    code: Code
    key: str = ""
    other: str = ""
    nodes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    gpus: int = 0
    fixes: tuple[Fix, ...] = ()

    @property
    def severity(self) -> Severity:
        """How it is shown."""
        return SEVERITIES[self.code]


def find(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> tuple[Finding, ...]:
    """All findings, the worst first, ties in the order of the levels."""
    found = [*_of_order(levels, nodes), *_of_labels(levels, nodes), *_of_values(levels, nodes)]
    severity = {value: rank for rank, value in enumerate(Severity)}
    return tuple(sorted(found, key=lambda finding: severity[finding.severity]))


def _of_order(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Iterator[Finding]:
    if HOSTNAME_LABEL in levels[:-1]:
        yield Finding(Code.HOSTNAME_NOT_LAST, key=HOSTNAME_LABEL)
    order = order_of(levels, nodes)
    if order is Order.NEAR_TO_FAR:
        yield Finding(Code.REVERSED, values=tuple(reversed(levels)))
        return
    strays = [finding for broad, narrow in pairwise(levels) for finding in _of_containment(nodes, broad, narrow)]
    yield from strays
    wrong = (Code.TWO_PARENTS, Code.MISORDERED)
    if not any(finding.code in wrong for finding in strays) and len(levels) > 1 and nodes:
        yield Finding(Code.ORDER_OK)


def _of_containment(nodes: Sequence[NodeFacts], broad: str, narrow: str) -> Iterator[Finding]:
    if order_of((broad, narrow), nodes) is Order.NEAR_TO_FAR:
        yield Finding(Code.MISORDERED, key=narrow, other=broad)
        return
    parents = parents_of(nodes, broad, narrow)
    strays = sorted((value for value, found in parents.items() if len(found) > 1), key=natural)
    if len(strays) > 1 and len(strays) * 2 > len(parents):
        yield Finding(Code.REUSED, key=narrow, other=broad, values=tuple(strays))
        return
    for value in strays:
        yield _two_parents(nodes, broad, narrow, value, parents[value])


def _two_parents(nodes: Sequence[NodeFacts], broad: str, narrow: str, value: str, parents: Counter[str]) -> Finding:
    """The nodes named are those under the rarer parents, which are probably the mistaken ones."""
    ordered = [parent for parent, _count in parents.most_common()]
    strays = [n.name for n in nodes if n.labels.get(narrow) == value and n.labels.get(broad) in ordered[1:]]
    return Finding(Code.TWO_PARENTS, key=narrow, other=broad, nodes=tuple(strays), values=(value, *ordered))


def _of_labels(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Iterator[Finding]:
    for position, key in enumerate(levels):
        absent = [node for node in nodes if key not in node.labels]
        if nodes and len(absent) == len(nodes):
            yield Finding(Code.KEY_ON_NO_NODE, key=key)
            continue
        empty = [node for node in nodes if node.labels.get(key) == ""]
        broader = levels[position - 1] if position else ""
        for code, concerned in (
            (Code.MISSING_LABEL, [node for node in absent if node.gpus]),
            (Code.MISSING_LABEL_NO_GPU, [node for node in absent if not node.gpus]),
            (Code.EMPTY_VALUE, empty),
        ):
            if concerned:
                yield _labels_finding(code, key, broader, concerned, nodes)
        if len({node.labels[key] for node in nodes if node.labels.get(key)}) == 1 and len(nodes) > 1:
            yield Finding(Code.SINGLE_VALUE, key=key)


def _labels_finding(
    code: Code, key: str, broader: str, concerned: Sequence[NodeFacts], nodes: Sequence[NodeFacts]
) -> Finding:
    ordered = sorted(concerned, key=lambda node: natural(node.name))
    neighbours = _Neighbours(nodes, key)
    return Finding(
        code,
        key=key,
        nodes=tuple(node.name for node in ordered),
        gpus=sum(node.gpus for node in ordered),
        fixes=tuple(neighbours.fix(node, broader) for node in ordered),
    )


class _Neighbours:
    """Guesses a missing value from the nodes that stand beside in natural order of their names."""

    def __init__(self, nodes: Sequence[NodeFacts], key: str) -> None:
        self.key = key
        self.ordered = sorted(nodes, key=lambda node: natural(node.name))
        self.position = {node.name: index for index, node in enumerate(self.ordered)}

    def fix(self, node: NodeFacts, broader: str) -> Fix:
        """The line for `node`; a value only where labelled neighbours in the same broader domain agree."""
        if self.key == HOSTNAME_LABEL:
            return Fix(node.name, self.key, node.name)
        index = self.position[node.name]
        beside = [
            other
            for other in self.ordered[max(0, index - 2) : index + 3]
            if other.labels.get(self.key)
            and (not broader or other.labels.get(broader) == node.labels.get(broader))
            and _stem(other.name) == _stem(node.name)
        ]
        values = {other.labels[self.key] for other in beside}
        if len(values) != 1:
            return Fix(node.name, self.key, "")
        return Fix(node.name, self.key, values.pop(), tuple(other.name for other in beside))


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


def _of_values(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Iterator[Finding]:
    clean = True
    for key in levels:
        if key == HOSTNAME_LABEL:
            continue
        counts = Counter(value for node in nodes if (value := node.labels.get(key)))
        for code, common, rare in _look_alikes(counts):
            clean = False
            concerned = sorted((n.name for n in nodes if n.labels.get(key) == rare), key=natural)
            fixes = tuple(Fix(name, key, common) for name in concerned)
            yield Finding(code, key=key, values=(common, rare), nodes=tuple(concerned), fixes=fixes)
    if clean and nodes and not any(node.labels.get(key) == "" for node in nodes for key in levels):
        yield Finding(Code.VALUES_OK)


def _look_alikes(counts: Mapping[str, int]) -> Iterator[tuple[Code, str, str]]:
    """Pairs of values that are probably one value mistyped: (code, the commoner, the rarer)."""
    by_case: dict[str, list[str]] = defaultdict(list)
    near: dict[str, list[str]] = defaultdict(list)
    for value in counts:
        by_case[value.casefold()].append(value)
        for form in {value, *(value[:i] + value[i + 1 :] for i in range(len(value)))}:
            near[form].append(value)
    seen: set[frozenset[str]] = set()
    for code, groups in ((Code.CASE, by_case), (Code.TYPO, near)):
        for group in groups.values():
            for first, second in ((a, b) for i, a in enumerate(group) for b in group[i + 1 :]):
                pair = frozenset((first, second))
                if pair in seen or (code is Code.TYPO and not _is_typo(first, second)):
                    continue
                seen.add(pair)
                rare, common = sorted(pair, key=lambda value: (counts[value], value))
                yield code, common, rare


def _is_typo(first: str, second: str) -> bool:
    """Whether one slip of a finger makes one of the other, and it does not look like counting (r1, r2; a, b)."""
    if first.casefold() == second.casefold():
        return False
    if len(first) != len(second):
        longer, shorter = sorted((first, second), key=len, reverse=True)
        added = [c for i, c in enumerate(longer) if longer[:i] + longer[i + 1 :] == shorter]
        return len(longer) - len(shorter) == 1 and bool(added) and not added[0].isdecimal() and len(shorter) > 1
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(differing) == 2:
        return differing[0] == differing[1][::-1] and not any(c.isdecimal() for pair in differing for c in pair)
    if len(differing) != 1:
        return False
    return not _counts(first, second)


_CONFUSABLE = {frozenset(pair) for pair in ("1l", "1i", "il", "0o", "5s", "8b", "2z")}


def _counts(first: str, second: str) -> bool:
    """Whether two values of equal length that differ in one character enumerate: by a digit, or by a lone letter.

    Only letters that look like a digit (l and 1) count as a slip between the two.
    """
    index = next(i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    pair = first[index] + second[index]
    if frozenset(pair.lower()) in _CONFUSABLE:
        return False
    if pair.isdecimal() or (pair.isalnum() and not pair.isalpha()):
        return True
    if not pair.isalpha():
        return False
    before = first[index - 1] if index else "-"
    after = first[index + 1] if index + 1 < len(first) else "-"
    return not before.isalpha() and not after.isalpha()
