"""Ids in paths. A malformed id is answered like an absent one: 404."""

import uuid

from core.errors import NotFound

LARGEST_NUMBER = 10**18 - 1


def number_of(text: str) -> int:
    """A row's number from its form in the API ("17"). Raises `NotFound`."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_NUMBER))):
        raise NotFound
    return int(text)


def uuid_of(text: str) -> uuid.UUID:
    """A row's uuid. Raises `NotFound`."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise NotFound from error
