"""Names that may be there once: who comes second hears so, however close behind."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from core.errors import Conflict


@contextmanager
def unless_taken(message: str) -> Iterator[None]:
    """Write a row whose name the database keeps unique. Raises `Conflict(message)` where it is taken."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise Conflict(message) from error
