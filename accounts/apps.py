from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers how authentication appears in the API's schema, and how a right is asked again."""
        from accounts import schema  # noqa: F401, PLC0415
        from accounts.permissions import require_again  # noqa: PLC0415 (needs the models)
        from core.rights_asked import on_asking_again  # noqa: PLC0415 (the same)

        on_asking_again(require_again)
