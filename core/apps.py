from django.apps import AppConfig
from django.utils.translation import gettext

from core.words import translate_with


class CoreConfig(AppConfig):
    name = "core"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let pure modules speak the viewer's language."""
        translate_with(gettext)
