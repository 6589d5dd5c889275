"""`manage.py audit verify`: whether anybody changed, removed or added an entry of the audit log behind our back."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import audit_chain


class Command(BaseCommand):
    help = "Verify the chain of the audit log. Note the head it prints, and give it the next time with --head."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("act", choices=["verify"])
        parser.add_argument("--head", default="", help="a head noted earlier, which must still be in the log")

    def handle(self, *args: Any, **options: Any) -> None:
        audit_chain.seal()
        verdict = audit_chain.verify(options["head"])
        if verdict.faults:
            raise CommandError("\n".join(verdict.faults))
        self.stdout.write(f"{verdict.checked} entries hold. Head: {verdict.head}")
