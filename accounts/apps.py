from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers how authentication appears in the API's schema."""
        from accounts import schema  # noqa: F401, PLC0415
