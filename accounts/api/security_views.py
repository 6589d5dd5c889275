"""`/api/v1/security/settings`: how people sign in and out, and how long an unused session lasts."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.security_shapes import SecuritySetting, SecuritySettingGiven, SecuritySettings
from accounts.permissions import TENANT, require
from accounts.requests import actor_of
from accounts.security import DEFAULTS, change_security_setting, security_setting, security_settings
from core.api.bodies import check_keys
from core.api.matching import check_match, tagged
from core.api.views import ApiView
from core.errors import NotFound


class SecuritySettingsView(ApiView):
    """The security settings."""

    gives: Mapping[str, Any] = {"get": SecuritySettings}

    def get(self, request: Request) -> Response:
        """All that hold now, by key."""
        require(request.user, "security-settings:read")
        return Response(security_settings())


class SecuritySettingView(ApiView):
    """One security setting."""

    gives: Mapping[str, Any] = {"get": SecuritySetting, "put": SecuritySetting}
    takes: Mapping[str, Any] = {"put": SecuritySettingGiven}

    def get(self, request: Request, key: str) -> Response:
        """What holds now."""
        require(request.user, "security-settings:read")
        found = _known(key)
        return tagged(found, found)

    def put(self, request: Request, key: str) -> Response:
        """Set it as a whole, from now on: `{enabled, idpAlias}`, `{idleTimeout}` in minutes, or `{uri}`."""
        require(request.user, "security-settings:update", TENANT)
        check_match(request, _known(key))
        body = self.body()
        check_keys(body, DEFAULTS[key])
        return Response(self.write(lambda: change_security_setting(actor_of(request), key=key, value=body)))


def _known(key: str) -> Mapping[str, Any]:
    """The setting of this key. Raises `NotFound`."""
    if key not in DEFAULTS:
        raise NotFound
    return security_setting(key)
