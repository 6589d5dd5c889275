"""Tokens in Run:ai's two shapes: `/api/v1/token` (camelCase JSON) and `/api/v2/token` (OAuth 2, RFC 6749)."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import FormParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import throttling, tokens
from accounts.api.serializers import (
    OAuthErrorSerializer,
    OAuthRequestSerializer,
    OAuthTokenSerializer,
    TokenRequestSerializer,
    TokenSerializer,
)
from accounts.api.token_rates import count_request
from accounts.requests import address_of, attempt_of
from accounts.services import verify_password, verify_secret
from core.api.schema import ErrorSerializer
from core.api.views import ApiView
from core.errors import InvalidInput, MusterError

Fields = Mapping[str, str]
REFUSALS = {400: ErrorSerializer, 401: ErrorSerializer, 429: ErrorSerializer}


class InvalidGrant(MusterError):
    """What was sent proves nobody: 401, alike for unknown, wrong, revoked and disabled."""

    code = 401
    reason = "Unauthorized"

    def __init__(self) -> None:
        super().__init__("The credentials are not valid.")


def by_password(fields: Fields, request: Request) -> tokens.TokenPair:
    """The grant of a person: e-mail and password."""
    attempt = attempt_of(request, _required(fields, "username"))
    count_request(attempt.subject, attempt.address)
    user = verify_password(attempt, _required(fields, "password"))
    if user is None or user.must_change_password:  # a temporary password is good for choosing another, on the page
        raise InvalidGrant
    return tokens.issue(user)


def by_access_key(fields: Fields, request: Request) -> tokens.TokenPair:
    """The grant of a pipeline: an access key's id and secret."""
    attempt = attempt_of(request, _required(fields, "clientid", "appid"))
    count_request(attempt.subject, attempt.address)
    key = verify_secret(attempt, _required(fields, "clientsecret", "appsecret"))
    if key is None:
        raise InvalidGrant
    return tokens.issue(key.user, key)


def by_refresh_token(fields: Fields, request: Request) -> tokens.TokenPair:
    """A new pair for a refresh token that is still good."""
    # Counted per address only: a token names no account before it is verified, and nobody may lock out the others.
    address = address_of(request._request)
    subject = f"refresh from {address}"
    token = _required(fields, "refreshtoken")
    throttling.count_attempt(subject, address)
    try:
        user, key = tokens.verify(token, "refresh")
    except tokens.InvalidToken as error:
        raise InvalidGrant from error
    throttling.forgive(subject, address)
    count_request(key.client_id if key else user.email, address)
    return tokens.issue(user, key)


GRANTS: Mapping[str, Callable[[Fields, Request], tokens.TokenPair]] = {
    "password": by_password,
    "client_credentials": by_access_key,
    "app_token": by_access_key,
    "refresh_token": by_refresh_token,
}
V2_GRANTS = ("password", "client_credentials", "refresh_token")


class TokenV1View(ApiView):
    """Run:ai's own shape. Keys are matched without regard to case: the official client sends `AppId`."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(request=TokenRequestSerializer, responses={200: TokenSerializer, **REFUSALS})
    def post(self, request: Request) -> Response:
        """Give a token for a password, an access key or a refresh token."""
        fields = _fields(self.body())
        grant = GRANTS.get(fields.get("granttype", ""))
        if grant is None:
            raise InvalidInput.of("grantType", "This grant is not offered", ", ".join(GRANTS))
        pair = grant(fields, request)
        return Response({"accessToken": pair.access, "refreshToken": pair.refresh, "expiresIn": pair.expires_in})


class TokenV2View(ApiView):
    """OAuth 2: a form in, RFC 6749's names and errors out."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (FormParser,)

    @extend_schema(
        request=OAuthRequestSerializer,
        responses={
            200: OAuthTokenSerializer,
            400: OAuthErrorSerializer,
            401: OAuthErrorSerializer,
            429: ErrorSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        """The same as OAuth 2 has it."""
        form: Mapping[str, Any] = request.data.dict() if isinstance(request.data, QueryDict) else {}
        fields = _fields({key.replace("_", ""): value for key, value in form.items()})
        name = fields.get("granttype", "")
        if name not in V2_GRANTS:
            return _oauth_error("unsupported_grant_type", f"offered: {', '.join(V2_GRANTS)}", 400)
        try:
            pair = GRANTS[name](fields, request)
        except InvalidGrant as error:
            wrong_client = name == "client_credentials"
            return _oauth_error("invalid_client" if wrong_client else "invalid_grant", error.message, 401)
        except InvalidInput as error:
            return _oauth_error("invalid_request", error.message, 400)
        return Response(
            {
                "access_token": pair.access,
                "token_type": "Bearer",
                "expires_in": pair.expires_in,
                "refresh_token": pair.refresh,
            }
        )


def _fields(body: Mapping[str, Any]) -> dict[str, str]:
    return {key.lower(): value for key, value in body.items() if isinstance(value, str)}


def _required(fields: Fields, *names: str) -> str:
    for name in names:
        if "\x00" in fields.get(name, ""):
            raise InvalidInput.of(name, "A string holds a NUL character", "text")
        if fields.get(name):
            return fields[name]
    raise InvalidInput.of(names[0], "Required parameter is missing", "a string that is not empty")


def _oauth_error(error: str, description: str, status: int) -> Response:
    return Response({"error": error, "error_description": description}, status=status)
