"""The rights that were asked while a request was answered, so that its answer, given again, is given to who still has
them. Whoever knows the rights registers how one is asked again when the process starts (`AppConfig.ready`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# A right and the ids of its scope as JSON has them, None for anywhere.
Asked = tuple[str, Sequence[Any] | None]
Question = Callable[[Any, str, Sequence[Any] | None], None]

_noted: ContextVar[list[Asked] | None] = ContextVar("rights_asked", default=None)
_questions: list[Question] = []


def on_asking_again(question: Question) -> None:
    """Call `question(user, right, scope)` for each right that is asked again; it raises where that is missing."""
    if question not in _questions:
        _questions.append(question)


def note(right: str, scope: Sequence[Any] | None) -> None:
    """The right was asked for, and it was there."""
    noted = _noted.get()
    if noted is not None and (right, scope) not in noted:
        noted.append((right, scope))


@contextmanager
def noting(asked: list[Asked]) -> Iterator[None]:
    """Collect into `asked` what is asked meanwhile."""
    token = _noted.set(asked)
    try:
        yield
    finally:
        _noted.reset(token)


def ask_again(user: Any, asked: Sequence[Asked]) -> None:
    """Raise as the first time where `user` lacks one of them now."""
    for right, scope in asked:
        for question in _questions:
            question(user, right, scope)
