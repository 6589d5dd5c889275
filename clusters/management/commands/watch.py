"""`manage.py watch`: mirrors the clusters into the database until it is told to stop."""

import signal
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand

from clusters.watcher.changes import Interest
from clusters.watcher.process import Watcher


class Command(BaseCommand):
    help = "Watches the clusters that no other watcher has, and mirrors their objects into the database."

    def handle(self, *args: Any, **options: Any) -> None:
        watcher = Watcher(interests=tuple(find_interests()))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: watcher.stopped.set())
        watcher.run()


def find_interests() -> list[Interest]:
    """`<app>.interests.wake_for` of every installed app that has one, the lowest package first."""
    modules = [f"{config.name}.interests" for config in apps.get_app_configs()]
    return [import_module(name).wake_for for name in modules if find_spec(name)]
