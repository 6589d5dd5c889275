"""Signing in and out: by password, through the identity provider; every attempt is on record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth import authenticate
from django.db import transaction
from django.utils import timezone

from accounts import throttling, tokens
from accounts.audit import Actor, Attempt, record, record_attempt
from accounts.models import AccessKey, AccessRule, Outcome, ScopeType, User, UserKind
from accounts.permissions import ADMINISTRATOR
from accounts.services.rights import rights_changed

SIGN_IN = "sign-in"
SIGN_OUT = "sign-out"


def verify_password(attempt: Attempt, password: str) -> User | None:
    """The user with the attempt's e-mail and this password, or None: unknown, wrong, expired and disabled look and take
    alike.

    Raises `TooManyFailures` before the password is looked at.
    """
    email = attempt.subject
    _count(attempt)
    user = authenticate(username=email.strip().lower(), password=password)
    if not isinstance(user, User) or user.kind != UserKind.PERSON or not user.is_local:
        record_attempt(attempt, SIGN_IN, reason="wrong credentials")
        return None
    if user.temporary_until is not None and user.temporary_until <= timezone.now():
        record_attempt(attempt, SIGN_IN, reason="the temporary password has expired")
        return None
    throttling.forgive(email, attempt.address)
    note_sign_in(attempt, user)
    return user


def verify_secret(attempt: Attempt, secret: str) -> AccessKey | None:
    """The access key of the attempt's client id, if `secret` is its secret. Raises `TooManyFailures`."""
    _count(attempt)
    key = tokens.verify_access_key(attempt.subject, secret)
    if key is None:
        record_attempt(attempt, SIGN_IN, reason="wrong credentials")
        return None
    throttling.forgive(attempt.subject, attempt.address)
    named = replace(attempt, subject=key.user.email, subject_type=key.user.kind)
    with transaction.atomic():
        User.objects.filter(pk=key.user_id).update(last_login=timezone.now())
        record_attempt(named, SIGN_IN, outcome=Outcome.SUCCEEDED, reason=f"key {key.client_id}", row=key.user)
    return key


def _count(attempt: Attempt) -> None:
    try:
        throttling.count_attempt(attempt.subject, attempt.address)
    except throttling.TooManyFailures:
        record_attempt(attempt, SIGN_IN, reason="too many failures")
        raise


@transaction.atomic
def note_sign_in(attempt: Attempt, user: User) -> None:
    """Record a successful sign-in and its time."""
    User.objects.filter(pk=user.pk).update(last_login=timezone.now())
    record_attempt(attempt, SIGN_IN, outcome=Outcome.SUCCEEDED, row=user)


def note_sign_out(attempt: Attempt, user: User) -> None:
    """Record a sign-out."""
    record_attempt(attempt, SIGN_OUT, outcome=Outcome.SUCCEEDED, row=user)


@transaction.atomic
def create_first_administrator(email: str, password: str) -> User:
    """The account that an empty installation starts with: administrator of everything."""
    user = User.objects.create_user(email, password)
    AccessRule.objects.create(user=user, role=ADMINISTRATOR, scope_type=ScopeType.TENANT, created_by="muster up")
    record(Actor(user, "command"), "create", user, after={"email": user.email, "role": ADMINISTRATOR})
    return user


@dataclass(frozen=True, slots=True)
class Identity:
    """What an identity provider says of a person: `subject` is stable at that `issuer`, the rest may change."""

    issuer: str
    subject: str
    email: str
    name: str
    groups: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.issuer}|{self.subject}"


def user_of_identity(identity: Identity, attempt: Attempt) -> User | None:
    """The user of this identity, made at the first sign-in, brought up to date at each; None where it may not be.
    What that changes is on record as their own act.

    An e-mail address that a local account has is no proof of being that account: it is refused, not taken over.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().filter(identity=identity.key).first()
        if user is None:
            if User.objects.filter(email=identity.email).exists():
                return None
            user = User(email=identity.email, identity=identity.key, is_local=False, created_by=identity.issuer[:254])
            user.set_unusable_password()
        if not user.is_active or not _is_free(identity.email, user):
            return None
        before = {} if user._state.adding else _told(user)
        user.email, user.name, user.groups = identity.email, identity.name[:200], _cleaned(identity.groups)
        user.save()
        _record_identity(attempt, user, before)
        if before.get("groups") != user.groups:
            rights_changed([user])
    return user


def _told(user: User) -> dict[str, Any]:
    return {"email": user.email, "name": user.name, "groups": user.groups}


def _record_identity(attempt: Attempt, user: User, before: Mapping[str, Any]) -> None:
    """What the provider says now of somebody who is new (`before` is empty) or of whom it said something else."""
    actor = Actor(user, attempt.source, attempt.address, attempt.request_id, attempt.method, attempt.path)
    after = _told(user)
    changed = [name for name in after if before.get(name) != after[name]]
    if not before:
        record(actor, "create", user, after=after)
    elif changed:
        record(actor, "update", user, before={n: before[n] for n in changed}, after={n: after[n] for n in changed})


def _is_free(email: str, user: User) -> bool:
    return not User.objects.filter(email=email).exclude(pk=user.pk).exists()


def _cleaned(groups: Iterable[str]) -> list[str]:
    return sorted({group.strip()[:200] for group in groups if group.strip()})
