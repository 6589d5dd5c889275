"""How the API knows who asks: a bearer token, or the session of a page (then with CSRF protection)."""

from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from accounts.models import AccessKey, User
from accounts.tokens import InvalidToken, verify

MAX_TOKEN_LENGTH = 4096


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; a wrong token is 401, never anonymous."""

    def authenticate(self, request: Request) -> tuple[User, AccessKey | None] | None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        if not token or len(token) > MAX_TOKEN_LENGTH:
            raise exceptions.AuthenticationFailed("Issuer is not familiar.")
        try:
            return verify(token.strip(), "access")
        except InvalidToken as error:
            raise exceptions.AuthenticationFailed(error.message) from error

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="muster"'


class PageSessionAuthentication(SessionAuthentication):
    """The session cookie of a signed-in person; every write needs the CSRF token."""
