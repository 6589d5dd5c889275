"""Where Go's encoding/base64 stops reading a text: the positions that its CorruptInputError names."""

import re
import string

_WHOLE = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_PLAIN = frozenset(string.ascii_letters + string.digits)
_STANDARD, _URL = _PLAIN | {"+", "/"}, _PLAIN | {"-", "_"}
_BREAKS = "\r\n"


def illegal_base64(text: str) -> int | None:
    """The position in a padded text of the standard alphabet; None for one that is whole."""
    if len(text) % 4 == 0 and _WHOLE.fullmatch(text):
        return None
    return _illegal(text)


def illegal_raw_url_base64(text: str) -> int | None:
    """The position in a text of the URL's alphabet without padding; None for one that is whole."""
    signs = _signs(text)
    strange = next((index for index, sign in signs if sign not in _URL), None)
    if strange is None and len(signs) % 4 == 1:
        return len(text) - 1
    return strange


def _illegal(text: str) -> int | None:
    signs = _signs(text)
    count = next((number for number, (_, sign) in enumerate(signs) if sign not in _STANDARD), len(signs))
    place = count % 4
    if count == len(signs):
        return len(text) - place if place else None
    index, sign = signs[count]
    if sign != "=" or place < 2:
        return index
    rest = signs[count + 1 :]
    if place == 2:
        if not rest:
            return len(text)
        if rest[0][1] != "=":
            return rest[0][0] - 1
        rest = rest[1:]
    return rest[0][0] if rest else None


def _signs(text: str) -> list[tuple[int, str]]:
    """Each with its position; line breaks are skipped."""
    return [(index, sign) for index, sign in enumerate(text) if sign not in _BREAKS]
