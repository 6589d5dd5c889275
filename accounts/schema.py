"""How the two ways of authentication appear in openapi.yaml."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # has no types
    """A token from /api/v1/token."""

    target_class = "accounts.authentication.TokenAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # has no types
    """The session of a page."""

    target_class = "accounts.authentication.PageSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
