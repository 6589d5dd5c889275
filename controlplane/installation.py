"""One machine's installation, as `manage.py up` runs it: which processes, in which order, and when it is ready."""

import http.client
import os
import secrets
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError

from controlplane import health, jobs, prepare, processes, simulated
from controlplane.celery import app
from controlplane.prepare import CannotStart
from controlplane.reconcilers import RECONCILERS
from controlplane.simulated import DefaultCluster, Whereabouts
from controlplane.supervisor import Child, Say, Supervisor
from core import broker, leases
from core.catalogues import compile_catalogue

FLEETS = ("small", "large", "empty")
# Of each step. A child that cannot start dies, and is told at once; one that lives may need minutes on a busy machine.
READY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Holding:
    """The default cluster: which kind of one, what it holds, and whether Muster's examples are put on it."""

    cluster: str
    fleet: str
    seed: bool


class Installation:
    """Started once; `stop` may be called at any time, also when `start` failed halfway."""

    def __init__(self, *, data_dir: Path, host: str, port: int, holding: Holding, say: Say) -> None:
        self._data_dir = data_dir
        self._host, self._port = host, port
        self._holding = holding
        self._say = say
        self._lock: IO[str] | None = None
        self._supervisor: Supervisor | None = None
        self._whereabouts: Whereabouts | None = None

    def start(self) -> None:
        """Bring everything up and wait until it is ready. Raises `CannotStart`."""
        began = time.monotonic()
        self._lock = prepare.claim_data_dir(self._data_dir)
        prepare.check_space(self._data_dir)
        prepare.check_port(self._host, self._port)
        supervisor = self._supervisor = Supervisor(self._data_dir / "logs", _environment(self._data_dir), self._say)
        self._say(f"Starting Muster in {self._data_dir} …")
        self._start_broker(supervisor)
        default = self._default_cluster()
        cluster = supervisor.start(Child(_process_name(default), default.command, foundation=True))
        if default.name == simulated.SIMULATED:
            supervisor.use(MUSTER_SIMULATOR_DIR=str(default.kubeconfig.parent))
        call_command("migrate", verbosity=0, interactive=False)
        compile_catalogue()
        administrator, password = prepare.ensure_administrator()
        web = supervisor.start(Child("web", processes.web(self._host, self._port)))
        self._await(supervisor, cluster, default.is_ready)
        whereabouts = Whereabouts(default, administrator)
        whereabouts.register()
        self._whereabouts = whereabouts
        self._start_workers(supervisor)
        self._await(supervisor, web, lambda: _answers(self._port, "/healthz", self._host))
        if self._holding.seed:
            self._await(supervisor, web, lambda: simulated.is_observed(default.name))
            simulated.seed(default.name, administrator)
        lacking = partial(health.lacking, default.name)
        self._await(supervisor, web, lambda: _answers(self._port, "/readyz", self._host) and not lacking(), lacking)
        self._greet(administrator.email, password, time.monotonic() - began)

    def look_after(self) -> None:
        """Call this often: it restarts what died, and finds the default cluster where it is then."""
        if self._supervisor is not None:
            self._supervisor.look_after()
        if self._whereabouts is not None:
            self._whereabouts.follow()

    def stop(self) -> None:
        """End every process that was started, and give the data directory free."""
        if self._supervisor is not None:
            self._supervisor.stop()
        if self._lock is not None:
            self._lock.close()

    def _start_broker(self, supervisor: Supervisor) -> None:
        if os.environ.get("REDIS_URL"):
            if not broker.is_alive():
                raise CannotStart("The broker at REDIS_URL does not answer: start it, or unset REDIS_URL.")
            return
        port, password = prepare.free_port(), secrets.token_hex(16)
        url = f"redis://:{password}@127.0.0.1:{port}/0"
        directory = self._data_dir / "broker"
        supervisor.use(REDIS_URL=url)
        configure = partial(processes.configure_broker, port, directory, password)
        child = supervisor.start(Child("broker", processes.broker(directory), prepare=configure, foundation=True))
        settings.REDIS_URL = url
        app.conf.update(broker_url=url)
        self._await(supervisor, child, broker.is_alive)

    def _default_cluster(self) -> DefaultCluster:
        if self._holding.cluster == simulated.REAL:
            return simulated.real(self._data_dir, self._holding.fleet)
        return simulated.simulated(self._data_dir, self._holding.fleet, _answers)

    def _start_workers(self, supervisor: Supervisor) -> None:
        supervisor.start(Child("watcher", processes.watcher()))
        supervisor.start(Child("worker", processes.worker(), parting=signal.SIGKILL, prepare=self._free_leases))
        supervisor.start(Child("beat", processes.beat()))

    def _free_leases(self) -> None:
        """On a database of its own nobody but the worker before can hold a lease: what it was at is due at once."""
        if os.environ.get("DATABASE_URL"):
            return
        try:
            jobs.break_all()
            for reconciler in RECONCILERS:
                leases.break_all(reconciler.model)
        except DatabaseError as error:
            self._say(f"What the last worker was at waits until its leases run out: {error}.")

    def _await(
        self, supervisor: Supervisor, child: Child, ready: Callable[[], bool], lacking: Callable[[], str] = str
    ) -> None:
        if supervisor.wait_until(ready, what=child.name, seconds=READY_SECONDS):
            return
        child = supervisor.crashing() or child
        told = f"The {child.name} did not become ready. {lacking()}".rstrip()
        raise CannotStart(f"{told} The end of its log:\n{supervisor.last_lines(child)}")

    def _greet(self, email: str, password: str, seconds: float) -> None:
        self._say(f"Muster is ready at http://{self._host}:{self._port} ({seconds:.0f} s).")
        if password:
            self._say(f"Sign in as {email} with the password {password} (it is shown only this once).")
        else:
            self._say(f"Sign in as {email}.")
        self._say("Ctrl-C stops everything.")


def _process_name(default: DefaultCluster) -> str:
    return "simulator" if default.name == simulated.SIMULATED else "cluster"


def _environment(data_dir: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_ADMIN_")}
    ours = {
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "MUSTER_DATA_DIR": str(data_dir),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
    }
    return kept | ours


def _answers(port: int, path: str, host: str = "127.0.0.1") -> bool:
    """Whether the path answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1" if host == "0.0.0.0" else host, port, timeout=5)  # noqa: S104 (compared, not listened on)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return answer.status == 200
