"""Refuses, by the name of its field, text that PostgreSQL cannot store: bodies, queries and manifests ask."""

from core.errors import Fault
from core.words import gettext as _

NUL = "\x00"
MAX_DIGITS = 1000  # of a number that is read at all; Python itself reads none of more than 4,300


def unstorable(field: str, text: str) -> list[Fault]:
    """What keeps `text`, the value of `field`, from being stored: a NUL, or half a character."""
    if NUL in text:
        return [Fault(field, _("It holds a NUL character"), _("text without it"))]
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return [Fault(field, _("It holds half of a surrogate pair, which is not text"), _("text without it"))]
    return []


def shown_name(name: str) -> str:
    """The name of a field, which may be what cannot be stored, as it can be told."""
    return ascii(name[:60])[1:-1] if unstorable("", name) else name[:60]
