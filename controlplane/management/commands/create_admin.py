"""`manage.py create_admin`: the first administrator of an installation that is not started with `up`."""

from typing import Any

from django.core.management.base import BaseCommand

from controlplane.prepare import ensure_administrator


class Command(BaseCommand):
    help = "Make the first administrator, named by MUSTER_ADMIN_EMAIL and MUSTER_ADMIN_PASSWORD."

    def handle(self, *args: Any, **options: Any) -> None:
        administrator, password = ensure_administrator()
        self.stdout.write(f"The administrator is {administrator.email}.")
        if password:
            self.stdout.write(f"Their password is {password} (it is shown only this once).")
