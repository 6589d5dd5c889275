"""Whether a name that people give can be read by others: not blank, not broken, not turned round. Pure."""

import unicodedata

_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs", "Mn", "Me"})


def is_readable(text: str) -> bool:
    """No control character, line end or mark of direction, by which a name reads as another; something to be seen.

    Joiners are part of words in some languages, and of many emoji: they may be there.
    """
    broken = any(c in _BIDI or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)
    return not broken and any(unicodedata.category(c) not in _INVISIBLE for c in text)


def same_name(text: str) -> str:
    """What names have in common that people take for the same: neither case, composition nor width tells apart."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
