from django.apps import AppConfig


class TopologyConfig(AppConfig):
    name = "topology"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """The audit log tells impacts in their own words."""
        from accounts.audit_changes import say_field  # noqa: PLC0415 (needs the models)
        from topology.impact_words import impact_sentence  # noqa: PLC0415 (the same)

        say_field("impact", impact_sentence)
