"""One real cluster that runs: starts its processes in order, knows when they are ready, stops and kills them."""

import base64
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import urllib3
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from controlplane.parting import with_parent
from simulator.api.certificates import Certificates, ensure_certificates
from simulator.api.kubeconfig import write_kubeconfig
from tests.cluster import binaries

HOST = "127.0.0.1"
READY_SECONDS = 90.0
STOP_SECONDS = 10.0
CONTROLLERS = "*,-nodeipam,-route,-cloud-node-lifecycle"
ETCD_BYTES = 8 * 1024**3
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""
PORTS = ("etcd", "peer", "api", "manager", "kwok")


class DidNotStart(Exception):
    """Which process did not become ready, with the end of its log."""


@dataclass
class RealCluster:
    """Processes and data below `directory`. `controllers` is the controller manager's list; "" starts none. Nodes
    renew leases of `lease_seconds`; 0: they have none. The API server gets `api_variables` (environment)."""

    directory: Path
    controllers: str = CONTROLLERS
    token: str = ""
    lease_seconds: int = 40
    api_variables: Mapping[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    _commands: dict[str, Sequence[str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.ports['api']}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.directory / "kubeconfig"

    @property
    def certificates(self) -> Certificates:
        return ensure_certificates(self.directory / "pki", HOST)

    @property
    def audit_log(self) -> Path:
        """One JSON event a line, of every request that was answered."""
        return self.directory / "audit.log"

    def start(self) -> "RealCluster":
        """Start everything; returns once the API server is ready. Raises `DidNotStart`.

        The processes end with the thread that calls this.
        """
        self.start_servers()
        self.start_controllers()
        return self

    def start_servers(self) -> None:
        """Start what answers, and wait until it does. Raises `DidNotStart`."""
        for name in ("logs", "pki"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self.ports = self.ports or dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self._write_access()
        self.start_etcd()
        self.start_api_server()

    def start_controllers(self) -> None:
        """Start what acts. The garbage collector learns only every 30 s of kinds that are defined later."""
        if self.controllers:
            self._start("kube-controller-manager", self._controller_manager())
        self._start("kwok", self._kwok())

    def start_etcd(self) -> None:
        """Start etcd and wait for it."""
        self._start("etcd", self._etcd())
        self._await("etcd", lambda: _healthy(f"http://{HOST}:{self.ports['etcd']}/health"))

    def start_api_server(self) -> None:
        """Start the API server and wait until it is ready."""
        self._start("kube-apiserver", self._api_server())
        authority = str(self.certificates.authority)
        self._await("kube-apiserver", lambda: _healthy(f"{self.url}/readyz", authority, self.token))

    def stop(self) -> None:
        """End all processes, the last started first."""
        for name in reversed(list(self.processes)):
            self.end(name)

    def kill(self) -> None:
        """End all processes at once: nothing of theirs is to be kept."""
        for name in list(self.processes):
            self.end(name, signal.SIGKILL)

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End one process, and kill it when it takes too long."""
        process = self.processes.pop(name, None)
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def compact(self) -> int:
        """Compact etcd up to now, as an API server does every few minutes; the revision. It is noted where API servers
        look for what another one compacted; their caches heed it within 15 s."""
        with urllib3.PoolManager() as pool:
            base = f"http://{HOST}:{self.ports['etcd']}/v3/kv"
            revision = int(pool.request("POST", f"{base}/range", json={"key": "AA=="}).json()["header"]["revision"])
            note = {"key": _base64("compact_rev_key"), "value": _base64(str(revision))}
            compaction = {"revision": str(revision), "physical": True}
            for verb, body in (("put", note), ("compaction", compaction)):
                answer = pool.request("POST", f"{base}/{verb}", json=body)
                assert answer.status == 200, answer.data
        return revision

    def kubectl(self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
        """The output of a kubectl of the server's own version. Raises CalledProcessError."""
        done = subprocess.run(
            [str(binaries.KUBECTL.path), "--kubeconfig", str(kubeconfig or self.kubeconfig), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
        return done.stdout

    def look_after(self) -> list[str]:
        """Start again what ended by itself; the names."""
        dead = [name for name, process in self.processes.items() if process.poll() is not None]
        for name in dead:
            self._start(name, self._commands[name])
        return dead

    def memory(self) -> int:
        """Resident bytes of all processes."""
        return sum(_resident(process.pid) for process in self.processes.values())

    def last_lines(self, name: str) -> str:
        """The end of a process's log."""
        return "\n".join((self.directory / "logs" / f"{name}.log").read_text(errors="replace").splitlines()[-8:])

    def _start(self, name: str, command: Sequence[str]) -> None:
        self._commands[name] = command
        variables = self.api_variables if name == "kube-apiserver" else {}
        with (self.directory / "logs" / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.directory), **variables},
                start_new_session=True,
                preexec_fn=with_parent(signal.SIGKILL),  # noqa: PLW1509  (it only makes one system call)
            )

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not ready():
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise DidNotStart(f"{name} did not become ready. The end of its log:\n{self.last_lines(name)}")
            time.sleep(0.05)

    def _write_access(self) -> None:
        """Certificates, the key of service accounts, the administrator's token, the kubeconfig, what is audited."""
        pki = self.directory / "pki"
        tokens, signing = pki / "tokens.csv", pki / "sa.key"
        if not signing.exists():
            _write_signing_key(signing)
        if not tokens.exists():
            _write_private(tokens, f"{self.token or secrets.token_hex(16)},admin,admin,system:masters\n")
        self.token = tokens.read_text().partition(",")[0]
        write_kubeconfig(self.kubeconfig, self.url, self.token, self.certificates.authority_text)
        (self.directory / "audit-policy.yaml").write_text(AUDIT_POLICY)

    def _etcd(self) -> list[str]:
        client, peer = (f"http://{HOST}:{self.ports[name]}" for name in ("etcd", "peer"))
        return [
            str(binaries.ETCD.path), f"--data-dir={self.directory / 'etcd'}", "--unsafe-no-fsync", "--log-level=error",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}", f"--quota-backend-bytes={ETCD_BYTES}",
        ]  # fmt: skip

    def _api_server(self) -> list[str]:
        pki, certificates = self.directory / "pki", self.certificates
        return [
            str(binaries.API_SERVER.path), f"--etcd-servers=http://{HOST}:{self.ports['etcd']}",
            f"--bind-address={HOST}", f"--advertise-address={HOST}", f"--secure-port={self.ports['api']}",
            f"--tls-cert-file={certificates.certificate}", f"--tls-private-key-file={certificates.key}",
            f"--client-ca-file={certificates.authority}", f"--service-account-key-file={pki / 'sa.key'}",
            f"--service-account-signing-key-file={pki / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--token-auth-file={pki / 'tokens.csv'}", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--endpoint-reconciler-type=none",
            f"--audit-policy-file={self.directory / 'audit-policy.yaml'}", f"--audit-log-path={self.audit_log}",
            "--profiling=false",
        ]  # fmt: skip

    def _controller_manager(self) -> list[str]:
        return [
            str(binaries.CONTROLLER_MANAGER.path), f"--kubeconfig={self.kubeconfig}", f"--bind-address={HOST}",
            f"--secure-port={self.ports['manager']}", "--leader-elect=false",
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={self.directory / 'pki' / 'sa.key'}",
            f"--root-ca-file={self.certificates.authority}", f"--flex-volume-plugin-dir={self.directory / 'flex'}",
            f"--controllers={self.controllers}", "--kube-api-qps=200", "--kube-api-burst=400",
        ]  # fmt: skip

    def _kwok(self) -> list[str]:
        return [
            str(binaries.KWOK.path), f"--kubeconfig={self.kubeconfig}",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--cidr=10.0.0.1/24",
            f"--node-ip={HOST}", f"--node-lease-duration-seconds={self.lease_seconds}",
            f"--server-address={HOST}:{self.ports['kwok']}",
            *(f"--config={path}" for path in sorted(binaries.stages().iterdir())),
        ]  # fmt: skip


def free_ports(count: int) -> list[int]:
    """Different ports of loopback that are free now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]


def are_free(ports: Iterable[int]) -> bool:
    """Whether all of these ports of loopback can be listened on."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                return False
    return True


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _healthy(url: str, authority: str = "", token: str = "") -> bool:
    options = {"ca_certs": authority} if authority else {}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib3.PoolManager(timeout=2.0, retries=False, **options) as pool:
        try:
            return bool(pool.request("GET", url, headers=headers).status == 200)
        except urllib3.exceptions.HTTPError:
            return False


def _write_signing_key(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    _write_private(path, pem.decode())


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
