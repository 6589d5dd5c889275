"""`manage.py up`: what it refuses, what it leaves behind, what it finds again, what it repairs."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack.installation import EMAIL, ROOT, Muster, environment_of, free_port, living, wait_until


def up(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "manage.py", "up", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_taken_port_is_said_in_one_sentence(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])

        done = up("--port", port, "--data-dir", str(tmp_path / "data"))

    assert done.returncode == 1
    assert done.stderr.strip() == (
        f"CommandError: Port {port} on 127.0.0.1 cannot be used (Address already in use): stop what listens there, "
        "or give another one with --port."
    )


def test_a_data_directory_that_cannot_be_written_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    done = up("--port", str(free_port()), "--data-dir", str(tmp_path / "file" / "data"))

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.strip() == (
        f"Muster cannot start. The data directory {tmp_path}/file/data cannot be written: Not a directory."
    )


def test_a_second_up_on_the_same_directory_is_refused_and_harms_nothing(muster):
    done = up("--port", str(free_port()), "--data-dir", str(muster.data_dir))

    assert done.returncode == 1
    assert f"Another `up` (process {muster.process.pid}) already uses" in done.stderr
    assert muster.request("GET", "/readyz").status == 200


def test_every_part_reports_itself_healthy(muster):
    parts = muster.request("GET", "/readyz").body["parts"]

    assert [part["name"] for part in parts] == [
        "database",
        "broker",
        "worker",
        "beat",
        "simulator",
        "watcher of simulated",
    ]
    assert all(part["healthy"] for part in parts)


def test_the_administrators_password_is_in_no_process_but_its_own(muster):
    children = muster.children()

    assert children
    for pid in children:
        assert not [v for v in environment_of(pid) if v.startswith(b"MUSTER_ADMIN_")] or pid == muster.process.pid


def command_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


def of_command(installation: Muster, word: str) -> int:
    """The process of this command, once it runs: one that was killed before is started again after a while."""

    def found() -> int | None:
        return next((pid for pid in installation.children() if leads(pid, word)), None)

    return wait_until(found, f"{word} to run", 90)


def leads(pid: int, word: str) -> bool:
    try:
        return os.getpgid(pid) == pid and any(Path(part).name == word for part in command_of(pid))
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return False


@pytest.mark.faults
@pytest.mark.parametrize("word", ["worker", "beat", "watch", "granian", "valkey-server"])
def test_a_killed_process_is_replaced_and_all_is_well_again(muster, word):
    pid = of_command(muster, word)

    os.kill(pid, signal.SIGKILL)

    wait_until(lambda: pid not in living(), "the process to be gone")
    assert of_command(muster, word) != pid
    wait_until(lambda: ends_healthy(muster), f"everything to be healthy after {word} was killed", 90)


def ends_healthy(installation):
    try:
        answer = installation.request("GET", "/readyz")
    except OSError:
        return False
    return answer.status == 200 and all(part["healthy"] for part in answer.body["parts"])


def test_ctrl_c_leaves_no_process_and_a_second_start_finds_the_data_again(tmp_path):
    installation = Muster(tmp_path / "data").start()
    made = installation.request("POST", "/api/v1/org-unit/departments", department(installation))
    assert made.status == 201, made.body
    assert len(installation.children()) > 5

    assert installation.stop() == 0
    assert installation.children() == []
    assert "Everything is kept" in installation.output

    installation.start()
    names = [d["name"] for d in installation.request("GET", "/api/v1/org-unit/departments").body["departments"]]
    assert "kept" in names
    assert EMAIL in installation.output

    installation.process.kill()
    installation.process.wait()
    wait_until(lambda: installation.children() == [], "every process to end after `up` was killed", 40)


def department(installation):
    (cluster,) = installation.request("GET", "/api/v1/clusters").body
    return {"name": "kept", "clusterId": cluster["uuid"], "resources": []}
