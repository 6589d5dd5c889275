"""A running installation whose parts can be killed, frozen and doubled, seen from outside: its processes by name, its
tables as they are, the simulated cluster, and REST calls that are repeated until somebody answers.
"""

import contextlib
import http.client
import itertools
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from controlplane import processes
from controlplane.processes import Command
from tests.faults.cluster import SimulatedCluster
from tests.stack.database import rows_of
from tests.stack.installation import ROOT, Answer, Muster, environment_of, free_port, wait_until
from tests.stack.reader import Reader

PARTS = {
    "broker": b"valkey-server",
    "simulator": b"simulator",
    "web": b"granian",
    "watcher": b"watch",
    "worker": b"worker",
    "beat": b"beat",
}
TABLES = (
    "topology_networktopology",
    "topology_nodepool",
    "organizations_department",
    "organizations_project",
    "workloads_workload",
    "clusters_cluster",
)
ANSWER_SECONDS = 120
MONITORING = "monitoring-of-these-tests"


@dataclass
class Stack:
    """`manage.py up` on SQLite, or on the PostgreSQL at `database_url`."""

    data_dir: Path
    database_url: str = ""
    muster: Muster = field(init=False)
    cluster: SimulatedCluster = field(init=False)
    _extra: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _reader: Reader = field(init=False)
    _others: list[Muster] = field(default_factory=list)
    _turns: Iterator[int] = field(default_factory=itertools.count)

    def start(self, **environment: str) -> "Stack":
        """Start every process and wait until all are healthy."""
        self.muster = Muster(self.data_dir, database_url=self.database_url)
        self.muster.start(MUSTER_MONITORING_TOKEN=MONITORING, **environment)
        self.cluster = SimulatedCluster(self.muster.kubeconfig)
        self._reader = Reader(self.muster)
        return self

    def stop(self) -> None:
        """End what was started, frozen or not."""
        for part in PARTS:
            self.signal(part, signal.SIGCONT)
        for process in self._extra:
            process.kill()
            process.wait()
        if self.muster.process is not None:
            self.muster.stop()

    # Processes.

    def groups(self, part: str) -> list[int]:
        """The process groups of a part: one, or more where it was doubled."""
        return [
            pid
            for pid in self.muster.children()
            if PARTS[part] in _command(pid).replace(b"/", b"\0").split(b"\0") and os.getpgid(pid) == pid
        ]

    def signal(self, part: str, number: signal.Signals) -> None:
        """Send a signal to every process of a part."""
        for group in self.groups(part):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def kill(self, part: str) -> None:
        """SIGKILL to all of a part, and wait until another process has taken its place."""
        before = self.groups(part)
        assert before, f"no {part} runs"
        self.signal(part, signal.SIGKILL)
        wait_until(lambda: set(self.groups(part)) - set(before), f"another {part}")

    @contextlib.contextmanager
    def frozen(self, *parts: str) -> Iterator[None]:
        """All processes of these parts stand still meanwhile, as on a machine that hangs."""
        for part in parts:
            self.signal(part, signal.SIGSTOP)
        try:
            yield
        finally:
            for part in parts:
                self.signal(part, signal.SIGCONT)

    @contextlib.contextmanager
    def doubled(self) -> Iterator[int]:
        """Meanwhile a second watcher, worker, beat and web process run; gives the port of the last."""
        port = free_port()
        self._add(processes.watcher(), processes.worker(), processes.beat(), processes.web("127.0.0.1", port))
        parts = ("watcher", "worker", "beat", "web")
        try:
            wait_until(lambda: all(len(self.groups(part)) == 2 for part in parts), "two of each process")
            yield port
        finally:
            for process in self._extra:
                process.terminate()
            for process in self._extra:
                process.wait(timeout=30)
            self._extra.clear()

    def _add(self, *commands: Command) -> None:
        """Start further processes with the environment of the worker that runs."""
        worker = environment_of(self.groups("worker")[0])
        environment = dict(entry.decode().split("=", 1) for entry in worker if b"=" in entry)
        with (self.data_dir / "extra.log").open("ab") as log:
            self._extra += [
                subprocess.Popen(
                    list(command), cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
                )
                for command in commands
            ]

    def environment(self, name: str) -> str:
        """The value of a variable that the worker was started with."""
        entries = environment_of(self.groups("worker")[0])
        return next(entry.decode().split("=", 1)[1] for entry in entries if entry.startswith(f"{name}=".encode()))

    # What it says and holds.

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """One request, repeated while the web process or its database does not answer (no connection, or 5xx)."""
        last: Any = None

        def answer() -> Answer | None:
            nonlocal last
            try:
                last = self._somebody().request(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                last = error
                return None
            return last if last.status < 500 else None

        try:
            return wait_until(answer, f"an answer to {method} {path}", ANSWER_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; the last was {last}") from None

    @contextlib.contextmanager
    def also_at(self, port: int) -> Iterator[None]:
        """Meanwhile every other request goes to the web process at `port`."""
        self._others.append(replace(self.muster, port=port))
        try:
            yield
        finally:
            self._others.pop()

    def _somebody(self) -> Muster:
        everybody = [self.muster, *self._others]
        return everybody[next(self._turns) % len(everybody)]

    def page(self, path: str) -> str:
        """The HTML of a page as the administrator sees it."""
        return self._reader.page(path)

    def health(self) -> dict[str, Any]:
        """The unhealthy parts by name with what is said of them; {"web": …} where nobody answers."""
        try:
            # Without its database Muster knows no administrator: only monitoring is told the parts then.
            answer = self.muster.request("GET", "/readyz", Authorization=f"Bearer {MONITORING}")
        except (OSError, http.client.HTTPException) as error:
            return {"web": str(error)}
        parts = answer.body.get("parts", []) if isinstance(answer.body, dict) else []
        return {part["name"]: part["message"] for part in parts if not part["healthy"]} or (
            {} if answer.status == 200 else {"web": answer.body}
        )

    def rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        """What the database answers to one SELECT."""
        return rows_of(self.muster, query)

    def leases(self) -> list[tuple[Any, ...]]:
        """Every lease that is held right now: on rows and on jobs."""
        held = [
            (table, *row)
            for table in TABLES
            for row in self.rows(f"SELECT id, name, lease_expires_at FROM {table} WHERE lease_token IS NOT NULL")
        ]
        return held + [
            ("job", *row) for row in self.rows("SELECT name, until FROM controlplane_job WHERE token IS NOT NULL")
        ]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
