"""Shapes of the security settings (`runai-openapi.json`: AutoRedirectSSO, BrowserSessionTimeout, LogoutRedirectUri)."""

import re
from typing import Annotated

import msgspec
from django.conf import settings

from accounts.security import LONGEST_URI, PROVIDER_ALIAS, SHORTEST_MINUTES, URI
from core.api.limits import limited
from core.api.shapes import UNSET, Meta, Shape, UnsetType

Alias = Annotated[str, Meta(examples=["oidc"])]
Uri = Annotated[str, Meta(examples=["https://example.org/signed-out"])]
_LONGEST = settings.SESSION_COOKIE_AGE // 60
GivenAlias = Annotated[str, limited(enum=[PROVIDER_ALIAS, ""])]
GivenUri = Annotated[
    str, limited(re.compile(f"(?:{URI.pattern})?"), maxLength=LONGEST_URI, examples=["https://example.org/signed-out"])
]


class AutoRedirect(Shape):
    """Whether the sign-in page leads on to the identity provider by itself."""

    enabled: bool
    idp_alias: Alias | None


class SessionTimeout(Shape):
    """After how many minutes an unused session ends; null: only after 12 hours."""

    idle_timeout: int | None


class LogoutRedirect(Shape):
    """Where the browser goes after signing out; null: to the sign-in page."""

    uri: Uri | None


class SecuritySettings(Shape):
    """All of them."""

    auto_redirect_sso: AutoRedirect = msgspec.field(name="autoRedirectSSO")
    browser_session_timeout: SessionTimeout
    logout_redirect_uri: LogoutRedirect


class SecuritySetting(Shape):
    """One of them: the fields of its key."""

    enabled: bool | UnsetType = UNSET
    idp_alias: Alias | UnsetType | None = UNSET
    idle_timeout: int | UnsetType | None = UNSET
    uri: Uri | UnsetType | None = UNSET


class SecuritySettingGiven(Shape):
    """The fields of one key; what is left out is as by default."""

    enabled: bool | None = None
    idp_alias: GivenAlias | None = None
    idle_timeout: (
        Annotated[float, limited(minimum=SHORTEST_MINUTES, maximum=_LONGEST, multipleOf=1, examples=[60])] | None
    ) = None
    uri: GivenUri | None = None
