"""`/v1/k8s/setting`: the settings of the installation that can be changed while it runs (Run:ai: tenant settings)."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import TENANT, require
from accounts.requests import actor_of
from controlplane.api_shapes import SettingChange, SettingChanged, SettingShape
from core.api.bodies import check_keys
from core.api.matching import check_match, tagged
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.models import TenantSetting
from core.tenant_settings import SETTINGS, Setting, is_on


class SettingListView(ApiView):
    """All settings."""

    gives: Mapping[str, Any] = {"get": list[SettingShape], "put": SettingChanged}
    takes: Mapping[str, Any] = {"put": SettingChange}

    def get(self, request: Request) -> Response:
        """A bare array of `{key, value, label, category, …}`; values are text."""
        require(request.user, "settings:read")
        return Response([setting_json(setting) for setting in SETTINGS.values()])

    def put(self, request: Request) -> Response:
        """Change one: `{key, value}`, a flag as true, false or their words. `If-Match` is the ETag of that setting."""
        require(request.user, "settings:update", TENANT)
        body = self.body()
        check_keys(body, ("key", "value"))
        setting = SETTINGS.get(str(body.get("key")))
        if setting is None:
            raise InvalidInput.of("key", f"{str(body.get('key'))[:60]!r} is not a setting", ", ".join(SETTINGS))
        value = read_flag(body.get("value"))
        check_match(request, state_of(setting))
        self.write(lambda: change_setting(actor_of(request), setting=setting, value=value))
        return Response({"msg": f"{setting.key} is {str(value).lower()} now"})


class SettingView(ApiView):
    """One setting."""

    gives: Mapping[str, Any] = {"get": bool}

    def get(self, request: Request, setting_key: str) -> Response:
        """Whether it is on: a bare true or false."""
        require(request.user, "settings:read")
        if setting_key not in SETTINGS:
            raise NotFound
        state = state_of(SETTINGS[setting_key])
        return tagged(state, state["value"])


def state_of(setting: Setting) -> dict[str, Any]:
    """What its ETag is of."""
    return {"key": setting.key, "value": is_on(setting)}


@transaction.atomic
def change_setting(actor: Actor, *, setting: Setting, value: bool) -> TenantSetting:
    """Turn a setting on or off."""
    require(actor.user, "settings:update", TENANT)
    before = is_on(setting)
    row, _made = TenantSetting.objects.update_or_create(
        key=setting.key, defaults={"value": value, "changed_at": timezone.now(), "changed_by": actor.user.email}
    )
    audit.record(actor, "update", row, before={"value": before}, after={"value": value})
    return row


def setting_json(setting: Setting) -> dict[str, Any]:
    """Schema TenantSetting."""
    return {
        "key": setting.key,
        "value": str(is_on(setting)).lower(),
        "label": setting.label,
        "category": setting.category,
        "type": "Boolean",
        "stage": "GA",
        "source": "User",
        "active": True,
    }


def read_flag(value: Any) -> bool:
    """A flag as JSON or as a word. Raises `InvalidInput`."""
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise InvalidInput.of("value", "It is not a flag", "true, false")
    return value
