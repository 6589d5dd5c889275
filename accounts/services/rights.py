"""Nobody gives or takes over more than they have; and everybody concerned hears that somebody's rights changed: this
process's tokens, and every open page."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from accounts import tokens
from accounts.audit import Actor
from accounts.models import AccessRule, ScopeType, User, UserKind
from accounts.permissions import ADMINISTRATOR, Scope, require, rights_given, rules_given
from accounts.scopes import scope_of
from core import live


def require_rights_of(actor: Actor, rule: AccessRule, scope: Scope) -> None:
    """Every right that `rule` gives, or will once its role is switched on, must be the actor's own in `scope`. Raises
    `NotPermitted` that names the first."""
    for right in sorted(rights_given(rule)):
        require(actor.user, right, scope)


def require_all_of(actor: Actor, user: User) -> None:
    """Whoever makes a new secret for `user` can act as they do: all that they may, or will once they are enabled, must
    be the actor's own too."""
    for rule in rules_given(user):
        require_rights_of(actor, rule, scope_of(rule))


def administrators() -> list[AccessRule]:
    """The rules by which people who may sign in administrate the whole installation. Locked until the transaction
    ends: of two acts at once that would leave nobody, the second one sees the first."""
    rules = AccessRule.objects.select_for_update().filter(role=ADMINISTRATOR, scope_type=ScopeType.TENANT)
    return list(rules.filter(user__is_active=True, user__kind=UserKind.PERSON).order_by("pk"))


def rights_changed(users: Iterable[User]) -> None:
    """What `users` may do changed: streams are checked again when the transaction commits, tokens from now on."""
    for user in users:
        user.__dict__.pop("_cached_access_rules", None)
        forget_tokens(user.pk)
        live.publish(*live.row_topics(User._meta.label, user.pk))


def forget_tokens(user_pk: UUID) -> None:
    """Now, and once more after the commit: another request may read what was there before it meanwhile."""
    tokens.forget(user_pk)
    transaction.on_commit(lambda: tokens.forget(user_pk))


def people_of_group(group: str) -> list[User]:
    """Everybody whom the identity provider puts into `group`. (SQLite cannot search in a JSON list.)"""
    people = User.objects.filter(kind=UserKind.PERSON, is_local=False)
    return [person for person in people if group in person.groups]
