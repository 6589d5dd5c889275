"""`manage.py api_list`: writes docs/api.md anew."""

from django.conf import settings
from django.core.management.base import BaseCommand

from controlplane.api_list import document


class Command(BaseCommand):
    """List the operations of Run:ai's API that Muster has."""

    help = "Write docs/api.md: which operations of Run:ai's API work and which answer 501."

    def handle(self, *args: object, **options: object) -> None:
        path = settings.BASE_DIR / "docs" / "api.md"
        path.write_text(document(path.read_text()))
