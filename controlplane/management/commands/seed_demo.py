"""`manage.py seed_demo`: example departments, projects, topologies and workloads on a cluster."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Make example departments, projects, topologies and workloads on a cluster, once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--actor", required=True, help="e-mail of the administrator in whose name it is done")
        parser.add_argument("--cluster", required=True, help="name of the cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        return
