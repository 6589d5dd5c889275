"""Tells everybody concerned that somebody's rights changed: this process's tokens, and every open page."""

from collections.abc import Iterable

from accounts import tokens
from accounts.models import User, UserKind
from core import live


def rights_changed(users: Iterable[User]) -> None:
    """What `users` may do changed: streams are checked again when the transaction commits, tokens from now on."""
    for user in users:
        user.__dict__.pop("_cached_access_rules", None)
        tokens.forget(user.pk)
        live.publish(*live.row_topics(User._meta.label, user.pk))


def people_of_group(group: str) -> list[User]:
    """Everybody whom the identity provider puts into `group`. (SQLite cannot search in a JSON list.)"""
    people = User.objects.filter(kind=UserKind.PERSON, is_local=False)
    return [person for person in people if group in person.groups]
