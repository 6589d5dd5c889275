from django.apps import AppConfig


class TopologyConfig(AppConfig):
    name = "topology"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """The audit log tells impacts in their own words, to each as far as they may know them."""
        from accounts.audit_changes import narrow_field, say_field  # noqa: PLC0415 (needs the models)
        from topology.impact_seen import narrow_for  # noqa: PLC0415 (the same)
        from topology.impact_words import impact_sentence  # noqa: PLC0415 (the same)

        say_field("impact", impact_sentence)
        narrow_field("impact", narrow_for)
