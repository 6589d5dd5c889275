"""Kubernetes' matching rules: tolerations, label expressions, node affinity."""

from collections.abc import Callable, Iterable, Iterator

from scheduling.structs import Node, Requirement, Taint, Toleration

HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first hard taint that no toleration covers."""
    return next(all_untolerated(taints, tolerations), None)


def all_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Iterator[Taint]:
    """The hard taints that no toleration covers."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(_tolerates(each, taint) for each in tolerations):
            yield taint


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def matches_affinity(node: Node, terms: Iterable[tuple[Requirement, ...]]) -> bool:
    """Whether a node fits one of the required terms; an empty term fits nothing."""
    return any(term and all(meets(requirement, _value(node, requirement)) for requirement in term) for term in terms)


def _value(node: Node, requirement: Requirement) -> str | None:
    return node.name if requirement.field else node.labels.get(requirement.key)


def meets(requirement: Requirement, value: str | None) -> bool:
    """Whether a label's value (None when missing) meets an expression; an unknown operator is never met."""
    test = _OPERATORS.get(requirement.operator)
    return test is not None and test(value, requirement.values)


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _compare(value: str | None, values: tuple[str, ...], *, greater: bool) -> bool:
    left, right = _number(value), _number(values[0] if values else None)
    if left is None or right is None:
        return False
    return left > right if greater else left < right


_OPERATORS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compare(value, values, greater=True),
    "Lt": lambda value, values: _compare(value, values, greater=False),
}
