"""`manage.py serve`: the web process alone, as in production."""

import argparse
import os
from typing import Any

from django.core.management.base import BaseCommand

from controlplane import processes


class Command(BaseCommand):
    help = "Run the web process: pages, the REST API, live streams."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=1, help="processes that serve requests")

    def handle(self, *args: Any, **options: Any) -> None:
        command = processes.web(options["host"], options["port"], options["workers"])
        os.execv(command[0], list(command))  # noqa: S606 (the command is ours)
