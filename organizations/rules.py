"""What names departments and projects may have (Run:ai D20: letter first, lower-case letters, digits, hyphen)."""

import re

from django.utils.translation import gettext as _

from clusters.names import is_rfc1123_label
from core.errors import Fault
from core.readable import unreadable

NAME_LENGTH = 40
DESCRIPTION_LENGTH = 500
NAMESPACE_PREFIX = "runai-"
# Namespaces that hold the cluster itself and the operators' own; a project there would hand out its secrets and quotas.
RESERVED_NAMESPACES = frozenset(
    {
        "default", "kube-system", "kube-public", "kube-node-lease",
        "kai-scheduler", "kai-resource-reservation", "kai-scale-adjust", "grove-system", "dynamo-system",
        "gpu-operator", "monitoring",
    }
)  # fmt: skip

NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?\Z")


def name_faults(name: str) -> list[Fault]:
    """Why `name` can't name a department or project."""
    if len(name) <= NAME_LENGTH and NAME.match(name):
        return []
    problem = _("“%(name)s” cannot be a name") % {"name": name[:80]} if name else _("A name is required")
    allowed = _("1 to %(n)d of a–z, 0–9 and “-”; a letter first, a letter or digit last") % {"n": NAME_LENGTH}
    return [Fault("name", problem, allowed)]


def description_faults(text: str) -> list[Fault]:
    """Why `text` can't be a description."""
    if faults := unreadable("description", text, several_lines=True):
        return faults
    if len(text) <= DESCRIPTION_LENGTH:
        return []
    return [Fault("description", _("The text is too long"), _("up to %(n)d characters") % {"n": DESCRIPTION_LENGTH})]


def namespace_faults(name: str) -> list[Fault]:
    """Why `name` can't be a project's namespace."""
    if name in RESERVED_NAMESPACES or name.startswith("kube-"):
        return [Fault("requestedNamespace", _("The namespace %(name)s is the cluster’s own") % {"name": name})]
    if is_rfc1123_label(name):
        return []
    allowed = _("1 to 63 lower-case letters, digits and “-”")
    return [Fault("requestedNamespace", _("“%(name)s” cannot be a namespace") % {"name": name[:80]}, allowed)]
