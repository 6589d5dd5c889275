"""Where Go's encoding/base64 stops reading a text."""

import string

_ALPHABET = frozenset(string.ascii_letters + string.digits + "+/")


def illegal_base64(text: str | None) -> int | None:
    """The position of the first byte that does not belong there; None for a text that is whole."""
    if text is None:
        return None
    signs = [(index, sign) for index, sign in enumerate(text) if sign not in "\r\n"]
    for count, (index, sign) in enumerate(signs):
        if sign == "=":
            rest = signs[count + 1 :]
            whole = (count % 4 == 3 and not rest) or (count % 4 == 2 and [sign for _, sign in rest] == ["="])
            return None if whole else index
        if sign not in _ALPHABET:
            return index
    return None if len(signs) % 4 == 0 else len(text)
