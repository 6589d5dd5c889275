from django.apps import AppConfig


class ControlplaneConfig(AppConfig):
    name = "controlplane"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Every process that sends tasks must know the application and its broker, not only the workers.
        from controlplane import celery  # noqa: F401, PLC0415
