"""`manage.py catalogues extract|compile|check`: the translations, without GNU gettext."""

import argparse
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.catalogues import compile_catalogue, extract_catalogue, problems, untranslated


class Command(BaseCommand):
    help = "Extract messages into locale/, compile what Django loads, or check that nothing is untranslated."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("act", choices=("extract", "compile", "check"))

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        if act == "extract":
            catalogue = extract_catalogue(root)
            self.stdout.write(f"{len(catalogue)} messages, {untranslated(catalogue)} without a translation")
        elif act == "compile":
            self.stdout.write(str(compile_catalogue() or "There is no catalogue to compile."))
        elif found := problems(root):
            raise CommandError("\n".join([*found, f"{len(found)} problems in the catalogue of translations"]))
