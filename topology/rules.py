"""What a topology or a node pool may hold: names, label keys, order. Knows neither rows nor requests."""

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _

from clusters.names import DEFAULT_NODE_POOL, HOSTNAME_LABEL, NODE_POOL_LABEL, is_label_key, is_label_value
from core.errors import Fault
from topology.suggestions import MAX_LEVELS, NodeFacts, is_surely_near_to_far

# KAI's CRD (kai.scheduler_topologies); Kubernetes itself would allow one character more (253 + 1 + 63).
MAX_KEY_LENGTH = 316
MAX_NAME_LENGTH = 63

# Run:ai's API (NetworkTopologyName) and D20 for node pools.
NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?\Z")


def name_faults(name: str) -> list[Fault]:
    """Why `name` can't name a topology or pool; empty when it can."""
    if len(name) <= MAX_NAME_LENGTH and NAME.match(name):
        return []
    problem = _("A name is required") if not name else _("“%(name)s” cannot be a name") % {"name": name[:80]}
    allowed = _("1 to 63 of a–z, 0–9 and “-”; a letter first, a letter or digit last")
    return [Fault("name", problem, allowed)]


def level_faults(levels: Sequence[object]) -> list[Fault]:
    """Why `levels` can't be the label keys of a topology, broadest first; empty when they can."""
    if not levels:
        return [Fault("levels", _("At least one level is required"), _("1 to %(n)d label keys") % {"n": MAX_LEVELS})]
    if len(levels) > MAX_LEVELS:
        problem = _("%(n)d levels are too many") % {"n": len(levels)}
        return [Fault("levels", problem, _("1 to %(n)d label keys") % {"n": MAX_LEVELS})]
    faults = []
    for index, key in enumerate(levels):
        faults += _key_faults(key, f"levels[{index}]")
        if key in levels[:index]:
            faults.append(doubled_fault(key, f"levels[{index}]"))
    if HOSTNAME_LABEL in levels[:-1]:
        faults.append(
            Fault(
                f"levels[{levels.index(HOSTNAME_LABEL)}]",
                _("%(key)s can only be the last level") % {"key": HOSTNAME_LABEL},
                _("broadest first, the host name last"),
            )
        )
    return faults


def order_faults(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> list[Fault]:
    """Why `levels` can't be stored on a cluster with `nodes`: they prove that it runs near to far, as many guides list
    it. What is only likely is advice (`topology.findings`)."""
    if not is_surely_near_to_far(levels, nodes):
        return []
    problem = _("The order runs near to far: on the nodes of this cluster the first level is the narrowest")
    return [Fault("levels", problem, _("broadest first: %(levels)s") % {"levels": ", ".join(reversed(levels))})]


def doubled_fault(key: object, field: str = "levels") -> Fault:
    """A level that is there twice."""
    return Fault(field, _("%(key)s is there twice") % {"key": key}, _("each key once"))


def _key_faults(key: object, field: str) -> list[Fault]:
    allowed = _("a node label key: an optional DNS prefix of up to 253 and “/”, then a name of up to 63 characters")
    if not isinstance(key, str) or not key or not is_label_key(key):
        return [Fault(field, _("“%(key)s” is not a label key") % {"key": str(key)[:80]}, allowed)]
    if len(key) > MAX_KEY_LENGTH:
        return [
            Fault(
                field,
                _("The label key has %(n)d characters") % {"n": len(key)},
                _("at most %(n)d, which is what the KAI Topology takes") % {"n": MAX_KEY_LENGTH},
            )
        ]
    return []


def pool_label_faults(name: str, key: str, value: str) -> list[Fault]:
    """Why nodes can't be chosen by this label for pool `name`; empty when they can."""
    faults = []
    if not key or not is_label_key(key):
        faults.append(
            Fault("labelKey", _("“%(key)s” is not a label key") % {"key": key[:80]}, _("such as example.com/pool"))
        )
    if not value or not is_label_value(value):
        faults.append(
            Fault(
                "labelValue",
                _("“%(value)s” is not a label value") % {"value": value[:80]},
                _("1 to 63 letters, digits, “-”, “_” and “.”, a letter or digit at both ends"),
            )
        )
    if key == NODE_POOL_LABEL and value != name:
        faults.append(
            Fault(
                "labelValue",
                _("With the scheduler’s own label %(key)s the value must be the pool’s name") % {"key": key},
                name,
            )
        )
    return faults


def new_pool_faults(name: str, key: str, value: str) -> list[Fault]:
    """Why a pool can't be made; `default` exists from the start and takes the nodes without a label."""
    faults = [*name_faults(name), *pool_label_faults(name, key, value)]
    if name == DEFAULT_NODE_POOL:
        faults.append(Fault("name", _("The pool “default” exists in every cluster"), _("another name")))
    return faults
