"""Types of the single values of a manifest, as the two CRDs and the core PodSpec have them. Pure.

The API server refuses what has another type, when nobody is looking any more; here it is said with its path.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusters.names import is_label_key, is_rfc1123_subdomain
from clusters.quantities import parse_quantity
from core.errors import Fault, InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

# What Kubernetes keeps of a quantity: beyond int64 it would be capped without a word.
LARGEST_QUANTITY = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """One type: whether a value has it, and the words for what it should be; `choices` end a sentence with them.

    null is no single value, for which it may stand for a number that somebody forgot; of what holds several it says
    that there are none, as in Kubernetes.
    """

    holds: Callable[[Any], bool]
    wanted: str
    choices: str = ""
    several: bool = False

    def words(self) -> str:
        """What it should be, in the viewer's language."""
        return _(self.wanted) % {"choices": self.choices} if self.choices else _(self.wanted)

    def fault(self, value: Any, field: str) -> Fault | None:
        """What is wrong with `value`; None if nothing."""
        if self.holds(value) or (value is None and self.several):
            return None
        wanted = self.words()
        if value is None:
            return Fault(field, _("it has no value"), wanted)
        return Fault(field, _("%(value)s is not %(wanted)s") % {"value": _shown(value), "wanted": wanted}, wanted)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_natural(value: Any) -> bool:
    return _is_whole(value) and 0 <= value < 2**31


def _is_port(value: Any) -> bool:
    return _is_whole(value) and 1 <= value <= 65535


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(inner, str) for inner in value)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        is_label_key(key) and isinstance(inner, str) for key, inner in value.items()
    )


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(inner, Mapping) for inner in value)


def _is_quantity(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        return 0 <= parse_quantity(value) <= LARGEST_QUANTITY
    except InvalidInput:
        return False


TEXT = Leaf(_is_text, gettext_noop("text; numbers and true/false in quotes"))
WORD = Leaf(lambda value: _is_text(value) and value != "", gettext_noop("text that is not empty"))
OBJECT_NAME = Leaf(lambda value: _is_text(value) and is_rfc1123_subdomain(value), gettext_noop("the name of an object"))
ENV_NAME = Leaf(
    lambda value: _is_text(value) and value != "" and "=" not in value, gettext_noop("the name of a variable")
)
FLAG = Leaf(lambda value: isinstance(value, bool), gettext_noop("true or false"))
WHOLE = Leaf(_is_natural, gettext_noop("a whole number from 0"))
PORT = Leaf(_is_port, gettext_noop("a port from 1 to 65535"))
PORT_OR_NAME = Leaf(
    lambda value: _is_port(value) or (_is_text(value) and value != ""), gettext_noop("a port or its name")
)
IMAGE = Leaf(
    lambda value: _is_text(value) and not any(c.isspace() for c in value), gettext_noop("an image, without spaces")
)
TEXTS = Leaf(_is_texts, gettext_noop("a list of texts; numbers and true/false in quotes"), several=True)
TEXT_MAP = Leaf(_is_text_map, gettext_noop("a map of label keys to texts"), several=True)
OBJECT = Leaf(lambda value: isinstance(value, Mapping), gettext_noop("a mapping"), several=True)
OBJECTS = Leaf(_is_objects, gettext_noop("a list of mappings"), several=True)
QUANTITY = Leaf(
    _is_quantity,
    gettext_noop("a quantity from 0: a number with n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as 1e3"),
)


def one_of(*values: str) -> Leaf:
    """One of these words."""
    return Leaf(
        lambda value: value in values if _is_text(value) else False,
        gettext_noop("one of %(choices)s"),
        ", ".join(values),
    )


def _shown(value: Any) -> str:
    return repr(value)[:40]
