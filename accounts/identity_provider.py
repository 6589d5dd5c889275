"""Sign-in through an OpenID Connect provider: authorization code with PKCE, state and nonce, checked by Authlib."""

from collections.abc import Mapping, Sequence
from functools import cache
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


class ProviderFailed(Exception):
    """The provider refused, cannot be reached, or what it says does not hold. The text is for the log only."""


def is_configured() -> bool:
    """Whether there is a provider to sign in through."""
    return bool(settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID)


def begin(request: HttpRequest, callback_url: str) -> HttpResponseRedirect:
    """To the provider; state, nonce and the PKCE verifier stay in the session. Raises `ProviderFailed`."""
    try:
        redirect: HttpResponseRedirect = _client(*_settings()).authorize_redirect(request, callback_url)
    except (AuthlibBaseError, RequestException, ValueError) as error:
        raise ProviderFailed(str(error)) from error
    return redirect


def finish(request: HttpRequest) -> Identity:
    """Who came back from the provider. Raises `ProviderFailed`."""
    client = _client(*_settings())
    try:
        token = client.authorize_access_token(request)
        claims = {**client.userinfo(token=token), **token.get("userinfo", {})}
    except (AuthlibBaseError, JoseError, RequestException, ValueError, RuntimeError) as error:
        raise ProviderFailed(f"{type(error).__name__}: {error}") from error
    return _identity(claims)


def _identity(claims: Mapping[str, Any]) -> Identity:
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not subject or not isinstance(email, str) or "@" not in email:
        raise ProviderFailed("the provider names no subject or no e-mail address")
    if claims.get("email_verified") is False:
        raise ProviderFailed("the provider has not verified the e-mail address")
    groups = claims.get(settings.OIDC_GROUPS_CLAIM, [])
    return Identity(
        issuer=settings.OIDC_ISSUER,
        subject=subject,
        email=email.strip().lower()[:254],
        name=str(claims.get("name") or ""),
        groups=_texts(groups)[:MAX_GROUPS],
    )


def _texts(value: Any) -> tuple[str, ...]:
    items: Sequence[Any] = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and item.isprintable())


def _settings() -> tuple[str, str, str, str]:
    return settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET, settings.OIDC_SCOPES


@cache
def _client(issuer: str, client_id: str, secret: str, scopes: str) -> Any:
    """The provider's metadata and keys are fetched at the first use, and kept."""
    return OAuth().register(
        name="provider",
        client_id=client_id,
        client_secret=secret or None,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": scopes,
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )
