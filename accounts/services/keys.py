"""Service accounts and personal access keys: a client id and a secret that is shown once."""

import re
import secrets
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import tokens
from accounts.audit import SECRET, Actor, record
from accounts.models import AccessKey, User, UserKind
from accounts.permissions import TENANT, require
from accounts.services.rights import forget_tokens, require_all_of, rights_changed
from accounts.services.taking import unless_taken
from core.errors import Conflict, InvalidInput, NotFound
from core.moments import rfc3339

NAME = re.compile(r"[a-z][-_a-z0-9]*[a-z0-9]\Z")  # Run:ai's pattern
NAME_LENGTH = 64
KEYS_PER_PERSON = 50
SERVICE_ACCOUNT_DOMAIN = "service-account"


@transaction.atomic
def create_service_account(actor: Actor, *, name: str) -> tuple[User, AccessKey, str]:
    """The account, its key, and the secret, which is not stored."""
    require(actor.user, "service-account:create", TENANT)
    _check_name(name)
    email = f"{name}@{SERVICE_ACCOUNT_DOMAIN}"
    account = User(email=email, name=name, kind=UserKind.SERVICE_ACCOUNT, is_local=False, created_by=actor.user.email)
    account.set_unusable_password()
    with unless_taken(_("A service account of this name exists already.")):
        account.save(force_insert=True)
    key, secret = _new_key(account, name, None)
    record(actor, "create", account, after={"name": name, "clientId": key.client_id, "secret": SECRET})
    return account, key, secret


@transaction.atomic
def set_service_account_enabled(actor: Actor, *, account: User, enabled: bool) -> None:
    """Switch it on or off; off, its tokens end at once."""
    require(actor.user, "service-account:update", TENANT)
    if account.is_active == enabled:
        return
    account.is_active, account.updated_at = enabled, timezone.now()
    account.save(update_fields=("is_active", "updated_at"))
    rights_changed([account])
    record(actor, "update", account, before={"enabled": not enabled}, after={"enabled": enabled})


@transaction.atomic
def renew_service_account_secret(actor: Actor, *, account: User) -> str:
    """A new secret; the old one and the tokens asked for with it end at once. Raises `NotPermitted` where the account
    may more than the actor."""
    require(actor.user, "service-account:update", TENANT)
    require_all_of(actor, account)
    secret = _renew(AccessKey.objects.get(user=account, revoked_at=None))
    record(actor, "update", account, after={"secret": SECRET})
    return secret


@transaction.atomic
def delete_service_account(actor: Actor, *, account: User) -> None:
    """Delete it with its access rules and its key."""
    require(actor.user, "service-account:delete", TENANT)
    record(actor, "delete", account, before={"name": account.name})
    rights_changed([account])
    account.delete()


@transaction.atomic
def create_access_key(actor: Actor, *, name: str, expires_at: datetime | None = None) -> tuple[AccessKey, str]:
    """A key of the actor's own, with their rights; and its secret, which is not stored. One that is asked for with a
    key that ends cannot outlive it."""
    if actor.user.kind != UserKind.PERSON:
        raise Conflict(_("A service account has one key, its own."))
    _check_name(name)
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput.of("expiresAt", _("This moment has passed"), _("a moment to come"))
    if _outlives(actor, expires_at):
        raise InvalidInput.of("expiresAt", _("The key that you ask with ends before"), f"≤ {rfc3339(actor.until)}")
    User.objects.select_for_update().get(pk=actor.user.pk)  # two at once are counted one after the other
    own = AccessKey.objects.filter(user=actor.user, revoked_at=None)
    if own.filter(name=name).exists():
        raise Conflict(_("You have an access key of this name already."))
    if own.count() >= KEYS_PER_PERSON:
        raise Conflict(_("You have %(limit)d access keys already.") % {"limit": KEYS_PER_PERSON})
    key, secret = _new_key(actor.user, name, expires_at)
    record(actor, "create", key, after={"name": name, "clientId": key.client_id, "secret": SECRET})
    return key, secret


@transaction.atomic
def renew_access_key_secret(actor: Actor, *, key: AccessKey) -> str:
    """A new secret for one of the actor's own keys; not for one that outlives the key that they ask with."""
    if key.user_id != actor.user.pk:
        raise NotFound
    if _outlives(actor, key.expires_at):
        raise Conflict(_("The key that you ask with ends before this one."))
    secret = _renew(key)
    record(actor, "update", key, after={"secret": SECRET})
    return secret


@transaction.atomic
def revoke_access_key(actor: Actor, *, key: AccessKey) -> None:
    """End a key and its tokens: one's own, or anybody's with the right access-keys:delete."""
    if key.user_id != actor.user.pk:
        require(actor.user, "access-keys:delete", TENANT)
    key.revoked_at = timezone.now()
    key.save(update_fields=("revoked_at",))
    forget_tokens(key.user_id)
    record(actor, "delete", key, before={"name": key.name, "user": key.user.email})


def _outlives(actor: Actor, expires_at: datetime | None) -> bool:
    return actor.until is not None and (expires_at is None or expires_at > actor.until)


def _check_name(name: str) -> None:
    if len(name) > NAME_LENGTH or not NAME.match(name):
        raise InvalidInput.of(
            "name",
            _("This is no name"),
            _("lower-case letters, digits, - and _, from a letter to a letter or digit, 2 to 64 characters"),
        )


def _new_key(user: User, name: str, expires_at: datetime | None) -> tuple[AccessKey, str]:
    secret, hashed = tokens.new_secret()
    # No underscore: clients turn it into a dash where an id stands in a path (runai.md §9.4).
    client_id = f"{name.replace('_', '-')[:40]}-{secrets.token_hex(6)}"
    key = AccessKey.objects.create(
        client_id=client_id,
        secret_hash=hashed,
        prefix=secret[: tokens.PREFIX_LENGTH],
        name=name,
        user=user,
        expires_at=expires_at,
    )
    return key, secret


def _renew(key: AccessKey) -> str:
    """Tokens that were asked for with the old secret end with it."""
    secret, key.secret_hash = tokens.new_secret()
    key.prefix, key.secret_at = secret[: tokens.PREFIX_LENGTH], timezone.now()
    key.save(update_fields=("secret_hash", "prefix", "secret_at"))
    forget_tokens(key.user_id)
    return secret
