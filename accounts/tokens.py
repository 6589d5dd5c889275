"""Bearer tokens of the API: short-lived JWTs, signed with a key derived from SECRET_KEY. Nothing is stored.

Claims are ASCII ids and numbers only, so that the payload's base64url form holds neither `-` nor `_`: the official
Python client decodes it with the standard alphabet (runai.md §9.2).
"""

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import jwt
from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import AccessKey, User
from core.errors import MusterError

ALGORITHM = "HS256"
LIFETIMES = {"access": timedelta(hours=1), "refresh": timedelta(hours=12)}
SECRET_PREFIX = "muster_"  # noqa: S105 (so that scanners recognise a leaked secret)

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
    """The user (and access key) behind a token. Raises `InvalidToken`. One or two queries."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token, _signing_key(), algorithms=[ALGORITHM], options={"require": ["exp", "iat", "sub", "use"]}
        )
    except jwt.InvalidTokenError as error:
        raise InvalidToken from error
    if claims["use"] != use:
        raise InvalidToken
    user = User.objects.filter(pk=claims["sub"], is_active=True).first()
    if user is None or claims["iat"] < user.valid_from.timestamp():
        raise InvalidToken
    return user, _live_key(claims.get("key"), user)


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
    AccessKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
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
    return jwt.encode(claims, _signing_key(), algorithm=ALGORITHM)


def _signing_key() -> bytes:
    return salted_hmac("muster.tokens", "HS256", secret=settings.SECRET_KEY, algorithm="sha256").digest()


def _live_key(pk: Any, user: User) -> AccessKey | None:
    if pk is None:
        return None
    key = AccessKey.objects.filter(pk=pk, user=user, revoked_at=None).first()
    if key is None:
        raise InvalidToken
    return key
