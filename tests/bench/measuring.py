"""Child processes and what they used, medians, and the rows of the report."""

import json
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KUBECTL = Path(sys.executable).parent / "kubectl"
MIB = 2**20


class ChildFailed(Exception):
    """A child process ended badly or took too long; its last words are the message."""


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds (user and system) of a child from start to end, and the JSON of its last line."""

    cpu: float
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report. `met` None: reported only, decides nothing."""

    goal: str
    what: str
    floor: str
    measured: str
    ratio: str
    bar: str
    met: bool | None


@dataclass(slots=True)
class Environment:
    """What children get: a data directory of their own (hence a database) and a broker, where there is one."""

    data_dir: Path
    redis_url: str = "redis://127.0.0.1:1/0"
    more: Mapping[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        ours = {
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
            "MUSTER_DATA_DIR": str(self.data_dir),
            "MUSTER_LOG_LEVEL": "ERROR",
            "REDIS_URL": self.redis_url,
        }
        kept = {key: value for key, value in os.environ.items() if key != "DATABASE_URL"}
        return kept | ours | dict(self.more)


def run_child(module: str, *arguments: object, environment: Environment, seconds: float = 400) -> Used:
    """Run `python -m tests.bench.<module>` and wait for it. Raises `ChildFailed`."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
    return run_command(command, environment.variables(), seconds=seconds)


def run_command(
    command: Sequence[str], variables: Mapping[str, str], *, seconds: float = 400, json_line: bool = True
) -> Used:
    """Run a command; without `json_line` its output is thrown away."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(variables),
        stdout=subprocess.PIPE if json_line else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        alarm = threading.Timer(seconds, process.kill)
        alarm.start()
        try:
            output = process.stdout.read() if process.stdout else b""
            errors = process.stderr.read() if process.stderr else b""
            _pid, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            alarm.cancel()
    if process.returncode:
        raise ChildFailed(f"{command[-3:]} ended with {process.returncode}: {errors.decode()[-1500:]}")
    said = json.loads(output.splitlines()[-1]) if json_line else {}
    return Used(usage.ru_utime + usage.ru_stime, said)


@contextmanager
def running_child(module: str, *arguments: object, environment: Environment) -> Iterator[dict[str, Any]]:
    """A child that runs meanwhile; yields the JSON of its first line, by which it says that it is ready."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *map(str, arguments)]
    with running_command(command, environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise ChildFailed(f"{module} did not become ready")
        yield json.loads(line)


@contextmanager
def running_command(command: Sequence[str], environment: Environment) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that runs meanwhile; it is asked to end, and killed if it does not."""
    with subprocess.Popen(command, cwd=ROOT, env=environment.variables(), stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """The coefficient of variation in words; nothing for a single run."""
    if len(values) < 2 or not statistics.mean(values):
        return ""
    return f", CV {100 * statistics.stdev(values) / statistics.mean(values):.0f} % of {len(values)} runs"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def memory(field_name: str) -> int:
    """A line of this process's /proc/self/status, in bytes: `VmRSS`, `VmHWM`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field_name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(field_name)
