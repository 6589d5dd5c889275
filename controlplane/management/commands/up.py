"""`manage.py up`: everything on one machine, with one command."""

import argparse
import signal
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.installation import FLEETS, Holding, Installation
from controlplane.prepare import CannotStart
from controlplane.simulated import KINDS, SIMULATED


class Stopped(Exception):
    """Ctrl-C or SIGTERM."""


class Command(BaseCommand):
    help = "Start everything on this machine: broker, default cluster, watcher, worker, beat and web."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address of the web process")
        parser.add_argument("--port", type=int, default=8000, help="port of the web process")
        # Read by manage.py before the settings are loaded.
        parser.add_argument("--data-dir", help="where everything is kept (default: var, or MUSTER_DATA_DIR)")
        parser.add_argument("--fleet", choices=FLEETS, default="small", help="what the default cluster holds")
        parser.add_argument(
            "--cluster",
            choices=KINDS,
            default=SIMULATED,
            help="the default cluster: simulated, or a real etcd and kube-apiserver on this machine (needs Go 1.26)",
        )
        parser.add_argument("--no-seed", action="store_true", help="start without the example projects and workloads")

    def handle(self, *args: Any, **options: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
        installation = Installation(
            data_dir=Path(settings.DATA_DIR).resolve(),
            host=options["host"],
            port=options["port"],
            holding=Holding(
                cluster=options["cluster"],
                fleet=options["fleet"],
                seed=options["fleet"] == "small" and not options["no_seed"],
            ),
            say=self._say,
        )
        try:
            installation.start()
            while True:
                installation.look_after()
                time.sleep(0.2)
        except CannotStart as error:
            raise CommandError(str(error)) from error
        except Stopped:
            self._say("Stopping …")
        finally:
            installation.stop()
        self._say("Stopped. Everything is kept for the next start.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _stop(number: int, frame: object) -> None:
    # Asked once is enough: a second Ctrl-C must not cut the stopping short and leave processes behind.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped
