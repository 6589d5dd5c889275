from django.apps import AppConfig


class OrganizationsConfig(AppConfig):
    name = "organizations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Quota rows follow node pools."""
        from organizations.services.pools import node_pool_changed  # noqa: PLC0415
        from topology.hooks import on_node_pool_change  # noqa: PLC0415

        on_node_pool_change(node_pool_changed)
