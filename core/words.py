"""Marks texts for translation where Django must not be known: in pure modules, which the simulator uses too.

`core.apps` gives Django's gettext when the product starts; without it texts stay as they are written.
"""

from collections.abc import Callable

_chosen: dict[str, Callable[[str], str]] = {"gettext": str}


def translate_with(gettext: Callable[[str], str]) -> None:
    """Use this function for every text from now on."""
    _chosen["gettext"] = gettext


def gettext(message: str) -> str:
    """The text in the language of whoever asks."""
    return _chosen["gettext"](message)


def gettext_noop(message: str) -> str:
    """Marks a text that is translated where it is used."""
    return message
