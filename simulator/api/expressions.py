"""The CEL rules of the CRDs that are known, each as a Python function found by the rule's text.

There is no CEL engine: a CRD with a rule that is not listed here is refused.
"""

from collections.abc import Callable, Iterator
from typing import Any

HOSTNAME = "kubernetes.io/hostname"
# (value, old value or None) -> whether the rule holds
Rule = Callable[[Any, Any], bool]


def normalized(rule: str) -> str:
    """A rule's text without differences of white space."""
    return " ".join(rule.split())


def _same_labels(levels: Any, old: Any) -> bool:
    return _labels(levels) == _labels(old)


def _unique_labels(levels: Any, _old: Any) -> bool:
    labels = _labels(levels)
    return len(set(labels)) == len(labels)


def _hostname_last(levels: Any, _old: Any) -> bool:
    labels = _labels(levels)
    return HOSTNAME not in labels or labels[-1] == HOSTNAME


def _labels(levels: Any) -> list[Any]:
    return [level.get("nodeLabel") for level in levels]


def _template(body: Any) -> Any:
    return (body.get("spec") or {}).get("template") or {}


def _no_pack_domain(body: Any, old: Any) -> bool:
    return old is not None or "packDomain" not in (_template(body).get("topologyConstraint") or {})


def _no_pack_domain_in(field: str) -> Rule:
    def holds(body: Any, old: Any) -> bool:
        items = _template(body).get(field) or []
        return old is not None or all("packDomain" not in (item.get("topologyConstraint") or {}) for item in items)

    return holds


RULES: dict[str, Rule] = {
    "self.map(l, l.nodeLabel) == oldSelf.map(l, l.nodeLabel)": _same_labels,
    "size(self.filter(i, size(self.filter(j, j.nodeLabel == i.nodeLabel)) > 1)) == 0": _unique_labels,
    "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || "
    "self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'": _hostname_last,
    "has(self.pack) || has(self.packDomain)": lambda value, _: "pack" in value or "packDomain" in value,
    "!(has(self.packDomain) && has(self.pack) && has(self.pack.required))": (
        lambda value, _: not ("packDomain" in value and "required" in (value.get("pack") or {}))
    ),
    "has(self.required) || has(self.preferred)": lambda value, _: "required" in value or "preferred" in value,
    "oldSelf.hasValue() || !has(self.spec.template.topologyConstraint) || "
    "!has(self.spec.template.topologyConstraint.packDomain)": _no_pack_domain,
    "oldSelf.hasValue() || !has(self.spec.template.cliques) || self.spec.template.cliques.all(c, "
    "!has(c.topologyConstraint) || !has(c.topologyConstraint.packDomain))": _no_pack_domain_in("cliques"),
    "oldSelf.hasValue() || !has(self.spec.template.podCliqueScalingGroups) || "
    "self.spec.template.podCliqueScalingGroups.all(g, !has(g.topologyConstraint) || "
    "!has(g.topologyConstraint.packDomain))": _no_pack_domain_in("podCliqueScalingGroups"),
}


def is_transition(rule: dict[str, Any]) -> bool:
    """A rule over the old value is skipped where there is none, unless it says that it copes."""
    return "oldSelf" in rule["rule"] and not rule.get("optionalOldSelf")


def unknown_rules(schema: Any) -> Iterator[str]:
    """Rules anywhere in a schema that have no function here."""
    if isinstance(schema, list):
        for item in schema:
            yield from unknown_rules(item)
    if not isinstance(schema, dict):
        return
    for rule in schema.get("x-kubernetes-validations") or []:
        if isinstance(rule, dict) and normalized(str(rule.get("rule", ""))) not in RULES:
            yield str(rule.get("rule", ""))
    for key, value in schema.items():
        if key != "x-kubernetes-validations":
            yield from unknown_rules(value)
