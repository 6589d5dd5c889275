"""Local people: made, given a temporary password, signed out everywhere, switched off, deleted."""

import re
import secrets
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import throttling
from accounts.audit import SECRET, Actor, attempt_of, record, record_attempt
from accounts.models import User, UserKind
from accounts.permissions import TENANT, require
from accounts.services.rights import administrators, require_all_of, rights_changed
from accounts.services.taking import unless_taken
from core.errors import Conflict, Fault, InvalidInput
from core.readable import is_readable, unreadable

EMAIL = re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}\Z")  # Run:ai's pattern
EMAIL_LENGTH = 254
TEMPORARY_BYTES = 15
TEMPORARY_LIFETIME = timedelta(days=3)


@transaction.atomic
def create_user(actor: Actor, *, email: str, name: str = "") -> tuple[User, str]:
    """A local user and their temporary password, which is not stored, must be changed at the first sign-in and opens
    nothing after `User.temporary_until`."""
    require(actor.user, "users:create", TENANT)
    email = email.strip().lower()
    faults = unreadable("name", name)
    if len(email) > EMAIL_LENGTH or not EMAIL.match(email):
        faults.append(Fault("email", _("This is no e-mail address"), "name@example.org"))
    if name.strip() and not (faults or is_readable(name)):
        faults.append(Fault("name", _("This name cannot be read"), _("something to be seen")))
    if faults:
        raise InvalidInput(faults)
    password = secrets.token_urlsafe(TEMPORARY_BYTES)
    user = User(email=email, name=name.strip()[:200], created_by=actor.user.email, must_change_password=True)
    user.set_password(password)
    user.temporary_until = timezone.now() + TEMPORARY_LIFETIME
    with unless_taken(_("A user with this e-mail address exists already.")):
        user.save(force_insert=True)
    record(actor, "create", user, after={"email": email, "name": user.name, "password": SECRET})
    return user, password


@transaction.atomic
def reset_password(actor: Actor, *, user: User) -> str:
    """A new temporary password. Sessions and tokens end. Raises `Conflict` for people of an identity provider,
    `NotPermitted` where they may more than the actor."""
    require_reset_of(actor, user)
    password = secrets.token_urlsafe(TEMPORARY_BYTES)
    user.set_password(password)
    user.must_change_password, user.temporary_until = True, timezone.now() + TEMPORARY_LIFETIME
    _end_everything(user, "password", "must_change_password", "temporary_until")
    record(actor, "reset-password", user, after={"password": SECRET})
    return password


def require_reset_of(actor: Actor, user: User) -> None:
    """Whether `actor` may give this person a way to another password: they could use it themselves. Raises
    `NotPermitted`, or `Conflict` for people of an identity provider."""
    require(actor.user, "users:update", TENANT)
    require_all_of(actor, user)
    if not user.is_local:
        raise Conflict(_("The password of this person is kept by the identity provider."))


def is_own_password(actor: Actor, *, current: str) -> bool:
    """Whether `current` is the person's password. A wrong one counts and is on record like one at the sign-in page:
    ask outside of a transaction that is undone for it. True for who has none here: `change_own_password` says so.
    Raises `TooManyFailures`."""
    if not _has_password(actor.user):
        return True
    attempt = attempt_of(actor)
    throttling.count_attempt(attempt.subject, attempt.address)
    if not actor.user.check_password(current):
        record_attempt(attempt, "reset-password", reason="wrong credentials", row=actor.user)
        return False
    throttling.forgive(attempt.subject, attempt.address)
    return True


@transaction.atomic
def change_own_password(actor: Actor, *, current: str, new: str) -> None:
    """The person's own new password; other sessions and tokens end. Raises `InvalidInput`."""
    user = User.objects.select_for_update().get(pk=actor.user.pk)
    if not _has_password(user):
        raise Conflict(_("The password of this person is kept by the identity provider."))
    if not user.check_password(current):
        raise InvalidInput.of("currentPassword", _("This is not your current password"))
    if current == new:
        raise InvalidInput.of("newPassword", _("This is your current password"), _("another one"))
    set_password_of_ones_own(actor, user, new)


def set_password_of_ones_own(actor: Actor, user: User, new: str) -> None:
    """Their password is `new`, which nobody else knows; sessions and tokens end. Raises `InvalidInput`."""
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise InvalidInput([Fault("newPassword", message) for message in error.messages]) from error
    user.set_password(new)
    user.must_change_password, user.temporary_until = False, None
    _end_everything(user, "password", "must_change_password", "temporary_until")
    record(actor, "reset-password", user, after={"password": SECRET})


@transaction.atomic
def force_logout(actor: Actor, *, user: User) -> None:
    """Every session, token and open stream of this user ends now."""
    require(actor.user, "users:update", TENANT)
    _end_everything(user)
    record(actor, "sign-out", user)


@transaction.atomic
def set_enabled(actor: Actor, *, user: User, enabled: bool) -> None:
    """Switch a person on or off; off ends everything of theirs, and keeps their access rules."""
    require(actor.user, "users:update", TENANT)
    if not enabled:
        _keep_an_administrator(actor, user)
    if user.is_active == enabled:
        return
    user.is_active = enabled
    _end_everything(user, "is_active")
    record(actor, "update", user, before={"enabled": not enabled}, after={"enabled": enabled})


@transaction.atomic
def delete_user(actor: Actor, *, user: User) -> None:
    """Delete a person with their access rules and keys; what they made stays."""
    require(actor.user, "users:delete", TENANT)
    _keep_an_administrator(actor, user)
    record(actor, "delete", user, before={"email": user.email, "name": user.name})
    rights_changed([user])
    user.delete()


def _has_password(user: User) -> bool:
    return user.is_local and user.kind == UserKind.PERSON


def _end_everything(user: User, *changed: str) -> None:
    user.valid_from = user.updated_at = timezone.now()
    user.save(update_fields=("valid_from", "updated_at", *changed))
    rights_changed([user])


def what_keeps(actor: Actor, user: User) -> str:
    """Why `actor` may neither disable nor delete this person, as a sentence; empty where nothing forbids it."""
    if user.pk == actor.user.pk:
        return _("You cannot do this to your own account.")
    if {rule.user_id for rule in administrators()} == {user.pk}:
        return _("This is the last person who may administrate the whole installation.")
    return ""


def _keep_an_administrator(actor: Actor, user: User) -> None:
    if told := what_keeps(actor, user):
        raise Conflict(told)
