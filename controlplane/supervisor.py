"""Starts child processes, restarts those that die, and leaves none behind, whatever happens to itself."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.parting import with_parent
from controlplane.processes import Command

BACKOFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
STEADY_SECONDS = 60.0  # a child that ran this long starts with the shortest backoff again
STOP_SECONDS = 15.0  # an idle worker took 3.3 to 3.8 s where six processes waited for each core
FOUNDATION_SECONDS = 30.0  # a new simulated cluster of thousands of nodes is written whole at its first end
LOG_BYTES = 20 * 1024 * 1024
POLL_SECONDS = 0.1
TELL_SECONDS = 30.0
LAST_LINES = 12

Say = Callable[[str], None]


@dataclass
class Child:
    """One process to keep alive. `parting` is what it gets when the supervisor itself is killed; `prepare` writes what
    it needs, before each start."""

    name: str
    command: Command
    parting: signal.Signals = signal.SIGTERM
    foundation: bool = False  # others talk to it: it is stopped after them
    prepare: Callable[[], object] = object
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    crashes: int = 0
    start_again_at: float = field(default=0.0)

    @property
    def runs(self) -> bool:
        """Whether it lives right now."""
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """The children of one installation, in the order in which they are started."""

    def __init__(self, log_dir: Path, environment: Mapping[str, str], say: Say) -> None:
        self._log_dir = log_dir
        self._environment = dict(environment)
        self._say = say
        self.children: list[Child] = []
        log_dir.mkdir(parents=True, exist_ok=True)

    def use(self, **environment: str) -> None:
        """Add to the environment of children that are started from now on."""
        self._environment.update(environment)

    def start(self, child: Child) -> Child:
        """Start a child and keep it alive from now on."""
        self.children.append(child)
        self._spawn(child)
        return child

    def crashing(self) -> Child | None:
        """A child that died three times in a row: waiting for it does not help."""
        return next((child for child in self.children if child.crashes >= 3), None)

    def wait_until(self, ready: Callable[[], bool], *, what: str, seconds: float) -> bool:
        """Whether `ready()` came true in time; stops waiting when a child is `crashing`. Says now and then that it
        still waits for `what`."""
        began = told = time.monotonic()
        while time.monotonic() < began + seconds and self.crashing() is None:
            if ready():
                return True
            self.look_after()
            if time.monotonic() > told + TELL_SECONDS:
                told = time.monotonic()
                self._say(f"Still waiting for the {what}, since {told - began:.0f} s …")
            time.sleep(POLL_SECONDS)
        return False

    def look_after(self) -> None:
        """Start again what died, not faster than its backoff; keep the logs bounded."""
        now = time.monotonic()
        for child in self.children:
            if child.process is not None and not child.runs:
                self._note_death(child, now)
            if child.process is None and now >= child.start_again_at:
                self._start_again(child, now)
            self._bound_log(child)

    def stop(self) -> None:
        """Ask every child to end, foundations last; kill what is left of their groups when the time is up."""
        self._stop([child for child in self.children if not child.foundation], STOP_SECONDS)
        self._stop([child for child in self.children if child.foundation], FOUNDATION_SECONDS)

    def _stop(self, children: Sequence[Child], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for child in children:
            if child.process is not None and child.runs:
                child.process.terminate()
        while any(child.runs for child in children) and time.monotonic() < deadline:
            time.sleep(0.02)
        for child in children:
            if child.runs:
                self._say(f"{child.name} did not end within {seconds:.0f} s and is killed.")
            _signal_group(child, signal.SIGKILL)
            if child.process is not None:
                child.process.wait()

    def log_of(self, child: Child) -> Path:
        """Where its output goes."""
        return self._log_dir / f"{child.name}.log"

    def last_lines(self, child: Child) -> str:
        """The end of its log."""
        with self.log_of(child).open("rb") as log:
            log.seek(max(0, self.log_of(child).stat().st_size - 20_000))
            return b"\n".join(log.read().splitlines()[-LAST_LINES:]).decode("utf-8", "replace")

    def _start_again(self, child: Child, now: float) -> None:
        """What cannot be started now, as on a full disk, is tried again; the others are looked after meanwhile."""
        try:
            self._spawn(child)
        except OSError as error:
            child.crashes += 1
            child.start_again_at = now + _pause(child)
            self._say(f"{child.name} could not be started: {error}. Trying again in {_pause(child):.0f} s.")

    def _spawn(self, child: Child) -> None:
        child.prepare()
        self._log_dir.mkdir(parents=True, exist_ok=True)
        with self.log_of(child).open("ab") as log:
            child.process = subprocess.Popen(  # noqa: S603 (commands are ours)
                list(child.command),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=with_parent(child.parting),  # noqa: PLW1509 (this process has one thread)
            )
        child.started_at = time.monotonic()

    def _note_death(self, child: Child, now: float) -> None:
        code = child.process.returncode if child.process else 0
        _signal_group(child, signal.SIGKILL)  # what it started must not outlive it
        child.process = None
        child.crashes = 1 if now - child.started_at > STEADY_SECONDS else child.crashes + 1
        pause = _pause(child)
        child.start_again_at = now + pause
        self._say(f"{child.name} ended ({_how(code)}); starting it again in {pause:.0f} s. Log: {self.log_of(child)}")

    def _bound_log(self, child: Child) -> None:
        # Children append, so that a truncated log simply starts anew.
        with contextlib.suppress(OSError):
            if self.log_of(child).stat().st_size > LOG_BYTES:
                os.truncate(self.log_of(child), 0)


def _pause(child: Child) -> float:
    return BACKOFF_SECONDS[min(child.crashes, len(BACKOFF_SECONDS)) - 1]


def _signal_group(child: Child, number: signal.Signals) -> None:
    if child.process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.process.pid, number)


def _how(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
