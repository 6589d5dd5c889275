from django.apps import AppConfig


class OrganizationsConfig(AppConfig):
    name = "organizations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Quota rows follow node pools; queues and namespaces have owners; the audit log says “unlimited” for −1."""
        from accounts.audit_changes import say_value  # noqa: PLC0415 (needs the models)
        from organizations.impact import owner_names  # noqa: PLC0415 (needs the models)
        from organizations.quota import BOUNDED  # noqa: PLC0415 (the same)
        from organizations.services.pools import node_pool_changed  # noqa: PLC0415 (the same)
        from organizations.wording import bound_word  # noqa: PLC0415 (the same)
        from topology.hooks import on_names, on_node_pool_change  # noqa: PLC0415 (the same)

        on_node_pool_change(node_pool_changed)
        on_names(owner_names)
        for column in BOUNDED:
            say_value(column, bound_word)
