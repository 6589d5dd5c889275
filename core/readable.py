"""Whether text that people give can be read by others: not blank, not broken, not turned round. Pure.

One rule for every free text, in names, descriptions and labels, by form and by REST alike. Refused are control
characters, line and paragraph separators, marks and overrides of direction, by which a text reads as another, and what
takes no room: zero-width spaces, joiners of words, soft hyphens, Hangul fillers, tags. The joiners U+200C and U+200D
are parts of words in Persian and Indic scripts and of many emoji: they may stand between two characters that can be
seen, and nowhere else. Where a text has several lines, line ends and tabs may be there.
"""

import re
import unicodedata

from core.errors import Fault
from core.words import gettext as _

_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ZERO_WIDTH = frozenset("\u00ad\u034f\u115f\u1160\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_OF_LINES = frozenset("\n\r\t")
_REFUSED = ("Cc", "Cs", "Zl", "Zp")
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})

# The same as patterns, for those who cannot call this: a joiner stands between two characters that are no spaces.
_NEVER = "".join(sorted(_BIDI | _ZERO_WIDTH)) + "\u2028\u2029\U000e0000-\U000e007f"
# Signs of format that may be there, but show nothing that a joiner could join.
_FORMATS = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
_FORMATS += "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
_JOINED = r"(?<=[^\s{0}{1}])[{0}](?=[^\s{0}{1}])".format("".join(sorted(_JOINERS)), _FORMATS)
READABLE = re.compile(rf"(?:[^\x00-\x1f\x7f-\x9f{_NEVER}{''.join(sorted(_JOINERS))}]|{_JOINED})*")
READABLE_LINES = re.compile(READABLE.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b\x0c\x0e-\x1f"))


def unreadable(field: str, text: str, *, several_lines: bool = False) -> list[Fault]:
    """What keeps others from reading `text`, the value of `field`, as it is: its first character that may not be."""
    for place, character in enumerate(text):
        if several_lines and character in _OF_LINES:
            continue
        if _is_refused(character) or (character in _JOINERS and not _joins(text, place)):
            message = _("Character %(n)d is %(character)s, which cannot be seen or turns the text round")
            told = message % {"n": place + 1, "character": _named(character)}
            return [Fault(field, told, _("text that reads as it is"))]
    return []


def is_readable(text: str) -> bool:
    """Whether a name can be read, and holds something to be seen."""
    return not unreadable("", text) and any(unicodedata.category(c) not in (*_INVISIBLE, "Mn", "Me") for c in text)


def same_name(text: str) -> str:
    """What names have in common that people take for the same: neither case, composition nor width tells apart."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_refused(character: str) -> bool:
    is_tag = "\U000e0000" <= character <= "\U000e007f"
    return is_tag or character in _BIDI or character in _ZERO_WIDTH or unicodedata.category(character) in _REFUSED


def _joins(text: str, place: int) -> bool:
    around = (text[place - 1 : place], text[place + 1 : place + 2])
    return all(c and unicodedata.category(c) not in _INVISIBLE for c in around)


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
