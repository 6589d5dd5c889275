"""`python -m simulator`: it starts, says where it listens, keeps its objects, and leaves nothing behind."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from clusters.kinds import CONFIG_MAP, NODE

ROOT = Path(__file__).parents[3]
READY = re.compile(r"The simulated cluster listens on (https://\S+) and (http://\S+)")


class Simulator:
    """One process; `ask` sends the administrator's token over TLS, as the kubeconfig says."""

    def __init__(self, directory: Path, port: int, *options: str) -> None:
        self.directory = directory
        command = [sys.executable, "-m", "simulator", "--port", str(port), "--data-dir", str(directory / "data")]
        command += ["--kubeconfig", str(directory / "kubeconfig"), *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ready(self) -> re.Match[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = READY.fullmatch(line.strip())
        assert found, (line, self.process.poll() is not None and self.process.stderr and self.process.stderr.read())
        return found

    def ask(self, method: str, path: str, body: object = None) -> urllib3.BaseHTTPResponse:
        config = yaml.safe_load((self.directory / "kubeconfig").read_text())
        server = config["clusters"][0]["cluster"]["server"]
        authority = self.directory / "data" / "pki" / "ca.crt"
        pool = urllib3.PoolManager(ca_certs=str(authority), retries=False, timeout=20)
        token = config["users"][0]["user"]["token"]
        try:
            return pool.request(method, server + path, json=body, headers={"Authorization": f"Bearer {token}"})
        finally:
            pool.clear()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def started() -> Iterator[list[Simulator]]:
    running: list[Simulator] = []
    yield running
    for simulator in running:
        if simulator.process.poll() is None:
            simulator.process.kill()
            simulator.process.communicate()


def test_it_starts_keeps_and_stops(tmp_path: Path, started: list[Simulator]) -> None:
    first = Simulator(tmp_path, 0, "--fleet", "empty")
    started.append(first)
    first.ready()
    nodes = first.ask("GET", NODE.path()).json()["items"]
    made = first.ask("POST", CONFIG_MAP.path("default"), {"metadata": {"name": "kept"}, "data": {"a": "b"}})
    code = first.stop()
    second = Simulator(tmp_path, 0, "--fleet", "empty")
    started.append(second)
    second.ready()
    again = second.ask("GET", CONFIG_MAP.path("default", "kept"))

    assert (made.status, code) == (201, 0)
    assert again.json()["metadata"]["uid"] == made.json()["metadata"]["uid"]
    assert len(second.ask("GET", NODE.path()).json()["items"]) == len(nodes)
    assert second.stop(signal.SIGINT) == 0


def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path: Path, started: list[Simulator]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        simulator = Simulator(tmp_path, port, "--fleet", "empty")
        started.append(simulator)
        _, errors = simulator.process.communicate(timeout=60)

    assert simulator.process.returncode == 1
    assert errors.strip().startswith(f"The simulator cannot listen on port {port} ")
    assert len(errors.strip().splitlines()) == 1


def test_a_kubeconfig_that_cannot_be_written_is_not_taken_for_a_port(tmp_path: Path, started: list[Simulator]) -> None:
    (tmp_path / "file").write_text("in the way")
    kubeconfig = tmp_path / "file" / "kubeconfig"
    simulator = Simulator(tmp_path, 0, "--fleet", "empty", "--kubeconfig", str(kubeconfig))
    started.append(simulator)
    _, errors = simulator.process.communicate(timeout=60)

    assert simulator.process.returncode == 1
    assert errors.strip().startswith(f"The simulator cannot write the kubeconfig {kubeconfig}: ")
    assert len(errors.strip().splitlines()) == 1
