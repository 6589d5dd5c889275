"""The settings of the installation that are changed while it runs: what there is, its default, what holds now."""

from dataclasses import dataclass

from core.models import TenantSetting


@dataclass(frozen=True, slots=True)
class Setting:
    """A flag that an administrator may turn. `label` says what it does when it is on."""

    key: str
    label: str
    category: str
    default: bool


REQUIRE_MATCH = Setting(
    "api.require-if-match",
    "Quota and topology writes over the API must say which state they change (If-Match), else 428",
    "API",
    default=True,
)
SETTINGS = {setting.key: setting for setting in (REQUIRE_MATCH,)}


def is_on(setting: Setting) -> bool:
    """What holds now. One query."""
    stored = TenantSetting.objects.filter(key=setting.key).values_list("value", flat=True).first()
    return setting.default if stored is None else bool(stored)
