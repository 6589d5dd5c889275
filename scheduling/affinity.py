"""A pod's required affinities → the engine's terms: nodes by their labels, other pods by theirs. Pure."""

from collections.abc import Mapping
from typing import Any

from scheduling.structs import PodTerm, Requirement

Object = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
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


def pod_terms(spec: Object, kind: str) -> tuple[PodTerm, ...]:
    """The required terms of `podAffinity` or `podAntiAffinity`; a namespaceSelector is not read."""
    affinity = (spec.get("affinity") or {}).get(kind) or {}
    return tuple(
        PodTerm(term["topologyKey"], _selector(term.get("labelSelector")), tuple(term.get("namespaces") or ()))
        for term in affinity.get(REQUIRED) or ()
    )


def _selector(selector: Object | None) -> tuple[Requirement, ...]:
    if selector is None:
        return NOBODY
    labels = (Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items())
    return (*labels, *(_requirement(entry, field=False) for entry in selector.get("matchExpressions") or ()))


def _requirement(entry: Object, *, field: bool) -> Requirement:
    return Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ()), field)
