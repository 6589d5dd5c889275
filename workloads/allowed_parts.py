"""Parts of a manifest that are read below their first level: where pods may stand, and what they refer to. Pure data.

They follow the core types of Kubernetes, with the fields that must be there.
"""

from collections.abc import Mapping
from typing import Any

from workloads.leaves import FLAG, OBJECT_NAME, PORT, QUANTITY, TEXT, TEXT_MAP, TEXTS, WHOLE, WORD, one_of

# A rule is ANY (whatever JSON holds; tested elsewhere), a Leaf (a type), a dict (these keys only), [rule] (a list of)
# or {"*": rule} (a map of).
ANY = object()
Rule = Any


class Fields(dict[str, Rule]):
    """A mapping of these keys only, of which those that it `needs` have a value."""

    def __init__(self, rules: Mapping[str, Rule], *needs: str) -> None:
        super().__init__(rules)
        self.needs = needs


def _requirement(*operators: str) -> Fields:
    return Fields({"key": WORD, "operator": one_of(*operators), "values": TEXTS}, "key", "operator")


_LABEL_SELECTOR: Rule = {
    "matchLabels": TEXT_MAP,
    "matchExpressions": [_requirement("In", "NotIn", "Exists", "DoesNotExist")],
}
_NODE_REQUIREMENTS: Rule = [_requirement("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")]
_NODE_TERM: Rule = {"matchExpressions": _NODE_REQUIREMENTS, "matchFields": _NODE_REQUIREMENTS}
_POD_TERM = Fields(
    {
        "topologyKey": WORD,
        **dict.fromkeys(("labelSelector", "namespaceSelector"), _LABEL_SELECTOR),
        **dict.fromkeys(("namespaces", "matchLabelKeys", "mismatchLabelKeys"), TEXTS),
    },
    "topologyKey",
)
_REQUIRED, _PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
_POD_AFFINITY: Rule = {
    _REQUIRED: [_POD_TERM],
    _PREFERRED: [Fields({"weight": WHOLE, "podAffinityTerm": _POD_TERM}, "weight", "podAffinityTerm")],
}
AFFINITY: Rule = {
    "nodeAffinity": {
        _REQUIRED: Fields({"nodeSelectorTerms": [_NODE_TERM]}, "nodeSelectorTerms"),
        _PREFERRED: [Fields({"weight": WHOLE, "preference": _NODE_TERM}, "weight", "preference")],
    },
    "podAffinity": _POD_AFFINITY,
    "podAntiAffinity": _POD_AFFINITY,
}
TOLERATIONS: Rule = [
    {
        **dict.fromkeys(("key", "value"), TEXT),
        "operator": one_of("Equal", "Exists"),
        "effect": one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
        "tolerationSeconds": WHOLE,
    }
]
SPREAD_CONSTRAINTS: Rule = [
    Fields(
        {
            **dict.fromkeys(("maxSkew", "minDomains"), WHOLE),
            "topologyKey": WORD,
            "whenUnsatisfiable": one_of("DoNotSchedule", "ScheduleAnyway"),
            "labelSelector": _LABEL_SELECTOR,
            "matchLabelKeys": TEXTS,
            **dict.fromkeys(("nodeAffinityPolicy", "nodeTaintsPolicy"), one_of("Honor", "Ignore")),
        },
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
    )
]
PULL_SECRETS: Rule = [Fields({"name": OBJECT_NAME}, "name")]
ENV_FROM: Rule = [
    {"prefix": TEXT, **dict.fromkeys(("secretRef", "configMapRef"), Fields({"name": TEXT, "optional": FLAG}, "name"))}
]
ENV_VALUE_FROM: Rule = {
    **dict.fromkeys(
        ("secretKeyRef", "configMapKeyRef"), Fields({"name": TEXT, "key": WORD, "optional": FLAG}, "name", "key")
    ),
    "fieldRef": Fields({"apiVersion": TEXT, "fieldPath": WORD}, "fieldPath"),
    "resourceFieldRef": Fields({"containerName": TEXT, "resource": WORD, "divisor": QUANTITY}, "resource"),
}
PORTS: Rule = [Fields({"name": TEXT, "containerPort": PORT, "protocol": one_of("TCP", "UDP", "SCTP")}, "containerPort")]
VOLUME_MOUNTS: Rule = [
    Fields({**dict.fromkeys(("name", "mountPath", "subPath"), TEXT), "readOnly": FLAG}, "name", "mountPath")
]
