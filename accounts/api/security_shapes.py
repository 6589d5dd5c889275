"""Shapes of the security settings (`runai-openapi.json`: AutoRedirectSSO, BrowserSessionTimeout, LogoutRedirectUri)."""

from typing import Annotated

import msgspec

from core.api.shapes import UNSET, Meta, Shape, UnsetType

Alias = Annotated[str, Meta(examples=["oidc"])]
Uri = Annotated[str, Meta(examples=["https://example.org/signed-out"])]


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
    idp_alias: Alias | None = None
    idle_timeout: Annotated[float, Meta(ge=1, examples=[60])] | None = None
    uri: Uri | None = None
