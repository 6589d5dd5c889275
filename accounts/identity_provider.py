"""Sign-in through an OpenID Connect provider: authorization code with PKCE, state and nonce, checked by Authlib."""

from collections.abc import Mapping, Sequence
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from joserfc.errors import JoseError
from requests import RequestException

from accounts.services import Identity

TIMEOUT_SECONDS = 10
MAX_GROUPS = 500
# What Authlib and requests raise for a provider that is absent, refuses, or whose documents are of another shape.
FAILURES = (AuthlibBaseError, JoseError, RequestException, ValueError, TypeError, RuntimeError)


class ProviderFailed(Exception):
    """The provider refused, cannot be reached, or what it says does not hold. The text is for the log only."""


def is_configured() -> bool:
    """Whether there is a provider to sign in through."""
    return bool(settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID)


def begin(request: HttpRequest, callback_url: str) -> HttpResponseRedirect:
    """To the provider; state, nonce and the PKCE verifier stay in the session. Raises `ProviderFailed`."""
    try:
        redirect: HttpResponseRedirect = _provider().authorize_redirect(request, callback_url)
    except FAILURES as error:
        raise ProviderFailed(str(error)) from error
    return redirect


def finish(request: HttpRequest) -> Identity:
    """Who came back from the provider. Raises `ProviderFailed`."""
    try:
        client = _provider()
        metadata = client.load_server_metadata()
        token = client.authorize_access_token(request, claims_options=_expected(metadata))
        more = client.userinfo(token=token) if metadata.get("userinfo_endpoint") else None
    except FAILURES as error:
        raise ProviderFailed(f"{type(error).__name__}: {error}") from error
    return _identity(joined(token.get("userinfo"), more))


def _expected(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Who says it, and to whom: without being told, Authlib believes a token for others (`aud`) that names this client
    as `azp`."""
    return {
        "iss": {"essential": True, "value": metadata["issuer"]},
        "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
    }


def joined(signed: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> dict[str, Any]:
    """The claims of the ID token (its signature, issuer, audience, times and nonce are checked) and, for the same
    person, those of the UserInfo endpoint, if there is one (OpenID Connect Core 5.3.2). Raises `ProviderFailed`."""
    if not signed:
        raise ProviderFailed("the provider sent no ID token: the scope openid is needed")
    if more is None:
        return dict(signed)
    if more.get("sub") != signed.get("sub"):
        raise ProviderFailed("the UserInfo endpoint speaks of somebody else than the ID token")
    return {**more, **signed}


def _identity(claims: Mapping[str, Any]) -> Identity:
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not subject or not isinstance(email, str) or not _is_address(email):
        raise ProviderFailed("the provider names no subject or no e-mail address")
    if claims.get("email_verified", True) not in (True, "true"):  # some providers send text
        raise ProviderFailed("the provider has not verified the e-mail address")
    groups = claims.get(settings.OIDC_GROUPS_CLAIM, [])
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=subject,
        email=email.strip().lower()[:254],
        name="".join(filter(str.isprintable, str(claims.get("name") or ""))),
        groups=_texts(groups)[:MAX_GROUPS],
    )


def _is_address(text: str) -> bool:
    return "@" in text and text.isprintable()


def _texts(value: Any) -> tuple[str, ...]:
    items: Sequence[Any] = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and item.isprintable())


def _provider() -> Any:
    """The client of a provider that is the one it was asked as (OpenID Connect Discovery 4.3)."""
    client = _client()
    named = client.load_server_metadata().get("issuer")
    if not isinstance(named, str) or named.rstrip("/") != settings.OIDC_ISSUER.rstrip("/"):
        raise ProviderFailed(f"the provider calls itself {str(named)[:100]!r}, not {settings.OIDC_ISSUER!r}")
    return client


def _client() -> Any:
    """Fetches the provider's metadata and keys anew for each step: what is kept outlives an exchange of keys."""
    secret = settings.OIDC_CLIENT_SECRET
    return OAuth().register(
        name="provider",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=secret or None,
        server_metadata_url=f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )
