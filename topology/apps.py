from django.apps import AppConfig


class TopologyConfig(AppConfig):
    name = "topology"
    default_auto_field = "django.db.models.BigAutoField"
