"""The supervisor with real processes: restarts, stopping, and nothing left behind when it is killed itself."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.processes import configure_broker
from controlplane.supervisor import Child, Supervisor


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("the condition did not come true in time")


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def python(code):
    return [sys.executable, "-c", code]


SLEEPER = "import time\nprint('started', flush=True)\ntime.sleep(600)"
STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(600)"
)


@pytest.fixture
def said():
    return []


@pytest.fixture
def supervisor(tmp_path, said):
    supervisor = Supervisor(tmp_path / "logs", dict(os.environ), said.append)
    yield supervisor
    supervisor.stop()


def test_a_crashed_child_is_started_again_and_said_so(supervisor, said):
    child = supervisor.start(Child("worker", python(SLEEPER)))
    first = child.process.pid

    os.kill(first, signal.SIGKILL)
    wait_for(lambda: supervisor.look_after() or (child.runs and child.process.pid != first))

    assert said == [f"worker ended (killed by SIGKILL); starting it again in 1 s. Log: {supervisor.log_of(child)}"]


def test_what_a_child_needs_is_written_before_each_start_and_its_log_folder_too(supervisor, tmp_path):
    needed = tmp_path / "broker" / "valkey.conf"
    child = Child("broker", python(SLEEPER), prepare=lambda: configure_broker(6379, needed.parent, "secret"))
    supervisor.start(child)
    first = child.process.pid
    shutil.rmtree(needed.parent)
    shutil.rmtree(tmp_path / "logs")

    os.kill(first, signal.SIGKILL)
    wait_for(lambda: supervisor.look_after() or (child.runs and child.process.pid != first))

    assert needed.stat().st_mode & 0o777 == 0o600
    assert supervisor.log_of(child).exists()


def test_a_child_that_cannot_be_started_again_is_tried_later_and_keeps_nobody_from_being_looked_after(
    supervisor, said, tmp_path
):
    child = Child("broker", python(SLEEPER), prepare=lambda: configure_broker(6379, tmp_path / "broker", "secret"))
    supervisor.start(child)
    first = child.process.pid
    shutil.rmtree(tmp_path / "broker")
    (tmp_path / "broker").touch()  # a file stands where its folder should be

    os.kill(first, signal.SIGKILL)
    wait_for(lambda: supervisor.look_after() or len(said) >= 2)
    (tmp_path / "broker").unlink()
    wait_for(lambda: supervisor.look_after() or child.runs)

    assert said[1].startswith("broker could not be started: [Errno 17] File exists")


def test_a_child_that_keeps_crashing_waits_longer_each_time(supervisor, said):
    child = supervisor.start(Child("worker", python("raise SystemExit(3)")))

    wait_for(lambda: supervisor.look_after() or len(said) >= 2)

    assert child.crashes == 2
    assert [text.split(";")[1].split(" s.")[0] for text in said] == [
        " starting it again in 1",
        " starting it again in 2",
    ]
    assert "exit status 3" in said[0]


def test_waiting_ends_when_a_child_gives_up(supervisor):
    child = supervisor.start(Child("web", python("print('no module named x'); raise SystemExit(1)")))

    assert supervisor.wait_until(lambda: False, what="web", seconds=20) is False
    assert supervisor.crashing() is child
    assert supervisor.last_lines(child).splitlines()[-1] == "no module named x"


def test_a_long_wait_is_told(supervisor, said, monkeypatch):
    monkeypatch.setattr("controlplane.supervisor.TELL_SECONDS", 0.0)

    assert supervisor.wait_until(lambda: bool(said), what="worker", seconds=20)
    assert said[0] == "Still waiting for the worker, since 0 s …"


def test_stopping_ends_children_and_what_they_started(supervisor):
    code = (
        "import subprocess, sys\n"
        f"p = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}])\n"
        "print(p.pid, flush=True)\n"
        "p.wait()"
    )
    child = supervisor.start(Child("parent", python(code)))
    grandchild = int(wait_for(lambda: supervisor.last_lines(child).split()[0:1] or None)[0])

    supervisor.stop()

    assert not lives(child.process.pid)
    wait_for(lambda: not lives(grandchild))


def test_a_child_that_ignores_the_signal_is_killed(supervisor, monkeypatch):
    monkeypatch.setattr("controlplane.supervisor.STOP_SECONDS", 0.5)
    child = supervisor.start(Child("deaf", python(STUBBORN)))
    wait_for(lambda: "deaf" in supervisor.last_lines(child))

    supervisor.stop()

    assert child.process.returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel feature is Linux's")
def test_children_end_when_the_supervisor_is_killed(tmp_path):
    code = (
        "import os, sys, time, pathlib\n"
        "from controlplane.supervisor import Child, Supervisor\n"
        "s = Supervisor(pathlib.Path(sys.argv[1]), dict(os.environ), print)\n"
        f"c = s.start(Child('child', [sys.executable, '-c', {SLEEPER!r}]))\n"
        "print(c.process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert lives(child)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_for(lambda: not lives(child))


def test_logs_stay_bounded(supervisor, monkeypatch):
    monkeypatch.setattr("controlplane.supervisor.LOG_BYTES", 1000)
    child = supervisor.start(Child("talker", python("print('x' * 5000, flush=True)\nimport time\ntime.sleep(600)")))
    wait_for(lambda: supervisor.log_of(child).stat().st_size > 1000)

    supervisor.look_after()

    assert supervisor.log_of(child).stat().st_size == 0
