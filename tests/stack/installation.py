"""A running installation as its users see it: pages, REST, kubectl. Knows nothing of Muster's insides."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.postgres import environment_for

ROOT = Path(__file__).resolve().parents[2]
EMAIL = "admin@example.org"
PASSWORD = "a password for the tests"
START_SECONDS = 120

Found = TypeVar("Found")


@dataclass
class Answer:
    """An answer of the REST API."""

    status: int
    body: Any


@dataclass
class Muster:
    """`manage.py up` in a process of its own, on SQLite, or on the PostgreSQL at `database_url`."""

    data_dir: Path
    fleet: str = "empty"
    port: int = 0
    database_url: str = ""
    extra: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    _token: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return self._log.read_text()

    @property
    def kubeconfig(self) -> Path:
        return self.data_dir / "simulator" / "kubeconfig"

    @property
    def _log(self) -> Path:
        return self.data_dir / "up.log"

    def start(self, **environment: str) -> "Muster":
        """Start it and wait until it says that it is ready."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        database = environment_for(self.database_url) if self.database_url else {}
        command = [sys.executable, "manage.py", "up", "--port", str(self.port), "--data-dir", str(self.data_dir)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--fleet", self.fleet, *self.extra],
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ
                | {"MUSTER_ADMIN_EMAIL": EMAIL, "MUSTER_ADMIN_PASSWORD": PASSWORD, "PYTHONUNBUFFERED": "1"}
                | database
                | environment,
            )
        wait_until(self._is_ready, f"`up` to be ready (its output: {self._log})", START_SECONDS)
        return self

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ctrl-C, or another signal; the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=40)

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output
        return "Muster is ready at" in self.output

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request with the administrator's token; JSON in and out."""
        if not self._token and path != "/api/v1/token":
            grant = {"grantType": "password", "username": EMAIL, "password": PASSWORD}
            self._token = self.request("POST", "/api/v1/token", grant).body["accessToken"]
        sent = {"Content-Type": "application/json", "If-Match": "*", **headers}
        if self._token:
            sent.setdefault("Authorization", f"Bearer {self._token}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return Answer(answer.status, json.loads(text) if is_json and text else text.decode())

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """The output of an unmodified kubectl against the simulated cluster."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else done.stderr

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        """`kubectl get … -o json` as a list of objects."""
        document = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return document["items"] if document["kind"].endswith("List") else [document]

    def await_ready(self, path: str) -> Any:
        """The object at this path once its status, or itself, is in phase `Ready`; fails with what it was instead."""
        found: list[Any] = []

        def ready() -> bool:
            found[:] = [self.request("GET", path).body]
            return bool(found[0].get("status", found[0])["phase"] == "Ready")

        try:
            wait_until(ready, path)
        except AssertionError as error:
            raise AssertionError(f"{error}: {found}") from error
        return found[0]

    def last_words(self, count: int = 40) -> str:
        """For the report of a failure: the end of what each process wrote, and what `/readyz` answers."""
        logs = [self._log, *sorted((self.data_dir / "logs").glob("*.log"))]
        told = [f"{log.name}:\n" + "\n".join(_lines(log)[-count:]) for log in logs if log.exists()]
        try:
            told.append(f"/readyz: {self.request('GET', '/readyz').body}")
        except OSError as error:
            told.append(f"/readyz: {error}")
        return "\n\n".join(told)

    def children(self) -> list[int]:
        """The ids of all living processes that were started for this installation."""
        marker = f"MUSTER_DATA_DIR={self.data_dir}".encode()
        return [pid for pid in living() if marker in environment_of(pid)]


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()


def wait_until(condition: Callable[[], Found], what: str, seconds: float = 60) -> Found:
    """The first true value of `condition()`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def living() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if re.fullmatch(r"\d+", entry.name)]


def environment_of(pid: int) -> list[bytes]:
    """The environment that a living process was started with; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
