"""The security settings of the installation (Run:ai: `/api/v1/security/settings`): what there is, what holds now.

`autoRedirectSSO` sends who comes to sign in straight to the identity provider; `browserSessionTimeout` ends sessions
that nobody used for so many minutes; `logoutRedirectUri` is where the browser goes after signing out.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.encoding import iri_to_uri
from django.utils.translation import gettext as _

from accounts import audit, identity_provider
from accounts.audit import Actor
from accounts.permissions import TENANT, require
from core.errors import InvalidInput
from core.models import TenantSetting

REDIRECT, IDLE, LOGOUT = "autoRedirectSSO", "browserSessionTimeout", "logoutRedirectUri"
# The name that the one identity provider has on the wire.
PROVIDER_ALIAS = "oidc"
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    REDIRECT: {"enabled": False, "idpAlias": None},
    IDLE: {"idleTimeout": None},
    LOGOUT: {"uri": None},
}
SHORTEST_MINUTES = 1
LONGEST_URI = 2000
URI = re.compile(r"(https?://)?([a-zA-Z0-9.-]+\.[a-zA-Z]{2,})(:[0-9]{1,5})?(/[^\s]*)?")  # Run:ai's pattern
_ROW = "security.{}"

Value = Mapping[str, Any]


def security_settings() -> dict[str, Value]:
    """All that hold now, by key. One query."""
    stored = dict(TenantSetting.objects.filter(key__in=map(_ROW.format, DEFAULTS)).values_list("key", "value"))
    return {key: {**default, **stored.get(_ROW.format(key), {})} for key, default in DEFAULTS.items()}


def security_setting(key: str) -> Value:
    """One that holds now; `key` is one of `DEFAULTS`. One query."""
    stored = TenantSetting.objects.filter(key=_ROW.format(key)).values_list("value", flat=True).first()
    return {**DEFAULTS[key], **(stored or {})}


def idle_minutes() -> int | None:
    """After how many minutes an unused session ends; None: only at its end. One query."""
    found: int | None = security_setting(IDLE)["idleTimeout"]
    return found


def goes_to_provider() -> bool:
    """Whether the sign-in page leads on to the identity provider by itself."""
    return identity_provider.is_configured() and bool(security_setting(REDIRECT)["enabled"])


def logout_address() -> str:
    """Where the browser goes after signing out; "" for the sign-in page."""
    uri = security_setting(LOGOUT)["uri"] or ""
    return iri_to_uri(uri if not uri or "://" in uri else f"https://{uri}")


@transaction.atomic
def change_security_setting(actor: Actor, *, key: str, value: Value) -> Value:
    """Set one as a whole; what `value` leaves out is as by default. Raises `InvalidInput` naming the field."""
    require(actor.user, "security-settings:update", TENANT)
    after = _CHECKS[key]({**DEFAULTS[key], **value})
    before = security_setting(key)
    row, _made = TenantSetting.objects.update_or_create(
        key=_ROW.format(key),
        defaults={"value": after, "changed_at": timezone.now(), "changed_by": actor.user.email},
    )
    audit.record(actor, "update", row, before=dict(before), after=dict(after))
    return after


def _redirect(value: Value) -> dict[str, Any]:
    enabled, alias = bool(value["enabled"]), value["idpAlias"] or None
    if alias not in (None, PROVIDER_ALIAS):
        message = _("There is no identity provider %(name)s") % {"name": str(alias)[:60]}
        raise InvalidInput.of("idpAlias", message, PROVIDER_ALIAS)
    if enabled and not identity_provider.is_configured():
        raise InvalidInput.of("enabled", _("There is no identity provider to sign in through"), "false")
    return {"enabled": enabled, "idpAlias": alias}


def _idle(value: Value) -> dict[str, Any]:
    minutes, longest = value["idleTimeout"], settings.SESSION_COOKIE_AGE // 60
    whole = isinstance(minutes, int | float) and not isinstance(minutes, bool) and minutes == minutes // 1
    if minutes is not None and not (whole and SHORTEST_MINUTES <= minutes <= longest):
        allowed = _("whole minutes from %(least)d to %(most)d; null for none") % {
            "least": SHORTEST_MINUTES,
            "most": longest,
        }
        raise InvalidInput.of("idleTimeout", _("A session cannot end after this time"), allowed)
    return {"idleTimeout": None if minutes is None else int(minutes)}


def _logout(value: Value) -> dict[str, Any]:
    uri = value["uri"] or None
    if uri is not None and (len(uri) > LONGEST_URI or not URI.fullmatch(uri)):
        raise InvalidInput.of("uri", _("This is no address to go to"), "https://example.org/signed-out")
    return {"uri": uri}


_CHECKS = {REDIRECT: _redirect, IDLE: _idle, LOGOUT: _logout}
