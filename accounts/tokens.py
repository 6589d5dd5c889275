"""Bearer tokens of the API: short-lived JWTs. Nothing of them is stored.

The key that signs them is derived from SECRET_KEY and the day (`kid`), so that it changes daily by itself; tokens of
yesterday's are still taken, and those of SECRET_KEY_FALLBACKS while SECRET_KEY is being exchanged. Claims are ASCII
ids and numbers only, so that the payload's base64url form holds neither `-` nor `_`: the official Python client
decodes it with the standard alphabet (runai.md §9.2).
"""

import copy
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import jwt
from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import AccessKey, User
from core.errors import MusterError

ALGORITHM = "HS256"
LIFETIMES = {"access": timedelta(hours=1), "refresh": timedelta(hours=12)}
SECRET_PREFIX = "muster_"  # noqa: S105 (so that scanners recognise a leaked secret)
PREFIX_LENGTH = 12
# How long a process goes on believing what it read of a token's user and key. What changes in this process is
# believed at once; what changes in another one, after this time at the latest.
STALENESS = 15.0
MAX_KNOWN = 10_000
ROTATION = timedelta(days=1)
_CLAIMS = ["exp", "iat", "sub", "use"]

Use = Literal["access", "refresh"]


class InvalidToken(MusterError):
    """The token is malformed, expired, revoked, of another use or of a disabled user: 401, and no reason why."""

    code = 401
    reason = "Unauthorized"

    def __init__(self) -> None:
        super().__init__("Issuer is not familiar.")


@dataclass(frozen=True, slots=True)
class TokenPair:
    """What a grant gives. `expires_in` is the access token's life in seconds."""

    access: str
    refresh: str
    expires_in: int


def issue(user: User, key: AccessKey | None = None) -> TokenPair:
    """Tokens for a user; those asked for with an access key die when it is revoked."""
    return TokenPair(_sign(user, key, "access"), _sign(user, key, "refresh"), int(LIFETIMES["access"].total_seconds()))


def verify(token: str, use: Use) -> tuple[User, AccessKey | None]:
    """The user (and access key) behind a token. Raises `InvalidToken`. At most one query, none within `STALENESS`."""
    claims = _claims(token)
    if claims["use"] != use:
        raise InvalidToken
    user, key = _principal(str(claims["sub"]), claims.get("key"))
    if claims["iat"] < user.valid_from.timestamp():
        raise InvalidToken
    if key is not None and (claims["iat"] < key.secret_at.timestamp() or _is_over(key, timezone.now())):
        raise InvalidToken
    return user, key


def forget(user_pk: UUID) -> None:
    """This process reads the user and their keys anew at the next request."""
    for known in list(_known):  # a copy: other threads add to it
        if known[0] == str(user_pk):
            _known.pop(known, None)


def new_secret() -> tuple[str, str]:
    """A secret for an access key, shown once, and the hash to store."""
    secret = SECRET_PREFIX + secrets.token_hex(24)
    return secret, hash_secret(secret)


def hash_secret(secret: str) -> str:
    """The form in which an access key's secret is stored. Secrets are random, so a plain hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def verify_access_key(client_id: str, secret: str) -> AccessKey | None:
    """The access key with this id and secret, unless it was revoked or its user is disabled."""
    key = AccessKey.objects.select_related("user").filter(client_id=client_id[:64], revoked_at=None).first()
    stored = key.secret_hash if key else hash_secret("")
    if not hmac.compare_digest(stored, hash_secret(secret)) or key is None or not key.user.is_active:
        return None
    now = timezone.now()
    if _is_over(key, now):
        return None
    AccessKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


def _sign(user: User, key: AccessKey | None, use: Use) -> str:
    now = timezone.now()
    claims: dict[str, Any] = {
        "sub": str(user.pk),
        "use": use,
        "iat": now.timestamp(),
        "exp": math.floor((now + LIFETIMES[use]).timestamp()),
    }
    if key is not None:
        claims["key"] = key.pk
    kid = _kid(now)
    return jwt.encode(claims, _key(kid, settings.SECRET_KEY), algorithm=ALGORITHM, headers={"kid": kid})


def _claims(token: str) -> dict[str, Any]:
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except jwt.InvalidTokenError as error:
        raise InvalidToken from error
    now = timezone.now()
    if kid not in (_kid(now), _kid(now - ROTATION)):
        raise InvalidToken
    for key in _keys(kid):
        try:
            claims: dict[str, Any] = jwt.decode(token, key, algorithms=[ALGORITHM], options={"require": _CLAIMS})
        except jwt.InvalidSignatureError:
            continue
        except jwt.InvalidTokenError as error:
            raise InvalidToken from error
        return claims
    raise InvalidToken


def _kid(at: datetime) -> str:
    return str(int(at.timestamp() // ROTATION.total_seconds()))


def _keys(kid: str) -> Iterator[bytes]:
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        yield _key(kid, secret)


def _key(kid: str, secret: str) -> bytes:
    return salted_hmac("muster.tokens", kid, secret=secret, algorithm="sha256").digest()


_known: dict[tuple[str, Any], tuple[float, User, AccessKey | None]] = {}


def _principal(sub: str, key_pk: Any) -> tuple[User, AccessKey | None]:
    """The live user and key of a token. A copy: what one request keeps on its user is not the next one's."""
    now = time.monotonic()
    found = _known.get((sub, key_pk))
    if found is None or found[0] < now:
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        found = _known[sub, key_pk] = (now + STALENESS, *_read(sub, key_pk))
    return copy.copy(found[1]), found[2]


def _read(sub: str, key_pk: Any) -> tuple[User, AccessKey | None]:
    if key_pk is None:
        user = User.objects.filter(pk=sub, is_active=True).first()
        if user is None:
            raise InvalidToken
        return user, None
    keys = AccessKey.objects.select_related("user")
    key = keys.filter(pk=key_pk, user_id=sub, revoked_at=None, user__is_active=True).first()
    if key is None:
        raise InvalidToken
    return key.user, key


def _is_over(key: AccessKey, now: datetime) -> bool:
    return key.expires_at is not None and key.expires_at <= now
