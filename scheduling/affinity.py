"""A pod's required affinities → the engine's terms: nodes by their labels, other pods by theirs. Pure."""

from collections.abc import Mapping
from typing import Any

from scheduling.selectors import meets
from scheduling.structs import PodTerm, Requirement

Object = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
Namespaces = Mapping[str, Mapping[str, str]]

NOWHERE = ("",)
"""A selector that selects no namespace: not even the pod's own, which empty names would mean."""
NOBODY = (Requirement("", "In"),)
"""A term without a label selector matches no pod (Kubernetes: a null selector)."""


def node_terms(spec: Object) -> tuple[tuple[Requirement, ...], ...]:
    """The required node selector terms: a disjunction of conjunctions."""
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return tuple(
        (
            *(_requirement(entry, field=False) for entry in term.get("matchExpressions") or ()),
            *(_requirement(entry, field=True) for entry in term.get("matchFields") or ()),
        )
        for term in (node_affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()
    )


def pod_terms(spec: Object, kind: str, namespaces: Namespaces | None = None) -> tuple[PodTerm, ...]:
    """The required terms of `podAffinity` or `podAntiAffinity`. A namespaceSelector becomes the names of the
    `namespaces` (labels by name) that it selects; where these are not known it is not read."""
    affinity = (spec.get("affinity") or {}).get(kind) or {}
    return tuple(
        PodTerm(term["topologyKey"], _selector(term.get("labelSelector")), _namespaces(term, namespaces))
        for term in affinity.get(REQUIRED) or ()
    )


def selects_namespaces(spec: Object) -> bool:
    """Whether a required term on other pods has a namespaceSelector."""
    affinity = spec.get("affinity") or {}
    parts = (affinity.get(kind) or {} for kind in ("podAffinity", "podAntiAffinity"))
    terms = (term for part in parts for term in part.get(REQUIRED) or ())
    return any(term.get("namespaceSelector") is not None for term in terms)


def _namespaces(term: Object, known: Namespaces | None) -> tuple[str, ...]:
    """Names, and those that the selector adds; an empty selector selects all. None of either: the pod's own."""
    names, selector = set(term.get("namespaces") or ()), term.get("namespaceSelector")
    if selector is None or known is None:
        return tuple(sorted(names))
    wanted = _selector(selector)
    names |= {name for name, labels in known.items() if all(meets(each, labels.get(each.key)) for each in wanted)}
    return tuple(sorted(names)) or NOWHERE


def _selector(selector: Object | None) -> tuple[Requirement, ...]:
    if selector is None:
        return NOBODY
    labels = (Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items())
    return (*labels, *(_requirement(entry, field=False) for entry in selector.get("matchExpressions") or ()))


def _requirement(entry: Object, *, field: bool) -> Requirement:
    return Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ()), field)
