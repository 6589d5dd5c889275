"""Links by which somebody whose password is lost chooses another one, which nobody else sees."""

import uuid

from django.db import transaction
from django.utils.translation import gettext as _

from accounts import throttling
from accounts.audit import SECRET, Actor, Attempt, record, record_attempt
from accounts.models import User, UserKind
from accounts.reset_links import reset_tokens
from accounts.services.users import require_reset_of, set_password_of_ones_own
from core.errors import Conflict

RESET = "reset-password"


@transaction.atomic
def make_reset_link(actor: Actor, *, user: User) -> str:
    """What proves the link: shown once, stored nowhere. Until it is used nothing changes. Raises `NotPermitted` where
    they may more than the actor, `Conflict` for disabled people and those of an identity provider."""
    require_reset_of(actor, user)
    if not user.is_active:
        raise Conflict(_("This person is disabled. Enable them first."))
    record(actor, RESET, user, after={"link": SECRET})
    return reset_tokens.make_token(user)


def user_of_link(attempt: Attempt, token: str) -> User | None:
    """Whom the link to the account `attempt.subject` is for, or None: it was used, has ended or was never made.

    Wrong ones count and are on record like wrong passwords. Raises `TooManyFailures`."""
    throttling.count_attempt(attempt.subject, attempt.address)
    user = _person(attempt.subject)
    if user is None or not reset_tokens.check_token(user, token):
        record_attempt(attempt, RESET, reason="the link has ended", row=user)
        return None
    throttling.forgive(attempt.subject, attempt.address)
    return user


@transaction.atomic
def use_reset_link(attempt: Attempt, *, user: User, token: str, new: str) -> User:
    """`new` is their password; every session, token and other link ends. Raises `InvalidInput`, and `Conflict` where
    another request has used the link meanwhile."""
    user = User.objects.select_for_update().get(pk=user.pk)
    if not reset_tokens.check_token(user, token):
        raise Conflict(_("This link was used already."))
    actor = Actor(user, attempt.source, attempt.address, attempt.request_id, attempt.method, attempt.path)
    set_password_of_ones_own(actor, user, new)
    return user


def _person(pk: str) -> User | None:
    try:
        number = uuid.UUID(pk)
    except ValueError:
        return None
    return User.objects.filter(pk=number, kind=UserKind.PERSON, is_local=True, is_active=True).first()
