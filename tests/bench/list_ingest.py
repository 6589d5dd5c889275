"""P1 and P2: listing all pods into the database, beside the decode floor, the official client and kubectl."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import urllib3

from tests.bench.measuring import KUBECTL, MIB, Environment, Row, Used, median, run_child, run_command, spread

ROUNDS = 5
RIVAL_ROUNDS = 3
MEMORY_RUNS = 3
DECIDES_FROM = 5_000
"""Pods. At a smaller size what does not grow with them weighs more, and the bars decide nothing."""


class _Meta(msgspec.Struct, rename={"more": "continue"}):
    more: str = ""


class _Page(msgspec.Struct):
    metadata: _Meta


def store_pages(served: dict[str, Any], directory: Path, path: str = "/api/v1/pods") -> int:
    """The pages of a list as they come over the wire, a file each; how many bytes. Over TLS where `served` names the
    authority."""
    directory.mkdir(parents=True)
    address = served["secure" if "authority" in served else "plain"]
    pool = urllib3.PoolManager(ca_certs=served.get("authority"))
    headers = {"Authorization": f"Bearer {served['token']}"}
    more, size, number = "", 0, 0
    while True:
        fields = {"limit": "500"} | ({"continue": more} if more else {})
        content = pool.request("GET", address + path, fields=fields, headers=headers).data
        (directory / f"{number:04d}.json").write_bytes(content)
        size, number = size + len(content), number + 1
        more = msgspec.json.decode(content, type=_Page).metadata.more
        if not more:
            return size


class ListIngest:
    """Our ingest of one cluster's pods, `rounds` times in turns with whatever it is compared with, with the rivals at
    most three times; `kubectl` is one for its server."""

    def __init__(
        self, kubeconfig: Path, environment: Environment, kubectl: Path = KUBECTL, rounds: int = ROUNDS
    ) -> None:
        self.kubeconfig, self.environment, self.kubectl, self.rounds = kubeconfig, environment, kubectl, rounds
        self.cpu: dict[str, list[float]] = {"floor": [], "ours": [], "plain": [], "kubectl": [], "official": []}
        self.changed: list[int] = []

    def beside_floor(self, pages: Path, pods: int, *, size: int, plain: str = "") -> list[Row]:
        """A B C A B C …: typed decode of the stored pages, and the ingest of the same pods over TLS and, where there is
        a `plain` address, without it."""
        for _ in range(self.rounds):
            self._note("floor", run_child("rivals", "floor", pages, environment=self.environment))
            self._ours()
            if plain:
                self._note("plain", run_child("ingest", self.kubeconfig, "aged", plain, environment=self.environment))
        floor = median(self.cpu["floor"])
        beside = f"typed decode of the same bytes in memory: {floor:.2f} s{spread(self.cpu['floor'])}"
        transports = {"ours": "TLS"} | ({"plain": "plain HTTP"} if plain else {})
        rows = []
        for name, transport in transports.items():
            ours = median(self.cpu[name])
            met = ours <= 3 * floor if pods >= DECIDES_FROM else None
            what, ratio = self._what(pods, size, transport), f"{ours / floor:.2f} × floor"
            rows.append(Row("P1", what, beside, self._text(name), ratio, "≤ 3 × floor", met))
        return rows

    def beside_rivals(self, pods: int, size: int) -> list[Row]:
        """A B C A B C …: kubectl without its start, the official client without its imports."""
        start = median([self._kubectl("version", "--client").cpu for _ in range(3)])
        for _ in range(min(self.rounds, RIVAL_ROUNDS)):
            self._ours()
            self.cpu["kubectl"].append(self._kubectl("get", "pods", "-A").cpu - start)
            self._note("official", run_child("rivals", "official", self.kubeconfig, environment=self.environment))
        ours = median(self.cpu["ours"])
        rows = []
        for name, label, bar in (("official", "official kubernetes client", 20), ("kubectl", "kubectl get pods -A", 8)):
            theirs = median(self.cpu[name])
            against = f"{label}: {theirs:.2f} s{spread(self.cpu[name])}"
            met = theirs >= bar * ours if pods >= DECIDES_FROM else None
            ratio, asked = f"{theirs / ours:.1f} × ours", f"≥ {bar} × ours"
            rows.append(Row("P1", self._what(pods, size, "TLS"), against, self._text("ours"), ratio, asked, met))
        return rows

    def _what(self, pods: int, size: int, transport: str) -> str:
        written = f"write 1 % ({median(self.changed):,.0f} rows)"
        return f"list {pods:,} pods ({size / MIB:.0f} MiB, {transport}), diff, {written}"

    def _text(self, name: str) -> str:
        return f"{median(self.cpu[name]):.2f} s CPU{spread(self.cpu[name])}"

    def _ours(self) -> None:
        used = run_child("ingest", self.kubeconfig, "aged", environment=self.environment)
        self.changed.append(used.said["changed"])
        self._note("ours", used)

    def _note(self, name: str, used: Used) -> None:
        self.cpu[name].append(used.said["cpu"])

    def _kubectl(self, *arguments: str) -> Used:
        command = [str(self.kubectl), "--kubeconfig", str(self.kubeconfig), *arguments]
        variables = self.environment.variables() | {"HOME": str(self.environment.data_dir)}
        return run_command(command, variables, json_line=False)


def first_ingest(kubeconfig: Path, directory: Path, name: str) -> Used:
    """Of several, each into a database of its own, the one with the middle peak; `directory / name` keeps the first."""
    runs = []
    for data_dir in (directory / name, *(directory / f"spare-{name}-{number}" for number in range(1, MEMORY_RUNS))):
        data_dir.mkdir()
        runs.append(run_child("ingest", kubeconfig, "first", environment=Environment(data_dir)))
    return sorted(runs, key=lambda run: float(run.said["above"]))[len(runs) // 2]


def memory_rows(small: Used, large: Used, pods: tuple[int, int]) -> list[Row]:
    """P2 from two first ingests: the peak above what the process took before it began."""
    above = [used.said["above"] / MIB for used in (small, large)]
    beside = [(used.said["above"] - used.said["index"]) / MIB for used in (small, large)]
    growth = max(beside[1], 0.1) / max(beside[0], 0.1)
    what = "peak memory above the start, into an empty database"
    sizes = f"{pods[0]:,} pods: {above[0]:.0f} MiB, {pods[1]:,} pods: {above[1]:.0f} MiB"
    return [
        Row("P2", what, "process before it begins", sizes, f"{max(above):.0f} MiB", "≤ 64 MiB", max(above) <= 64),
        Row(
            "P2",
            f"{what}, own index excluded",
            f"{pods[0]:,} pods: {beside[0]:.0f} MiB",
            f"{pods[1]:,} pods: {beside[1]:.0f} MiB",
            f"{growth:.2f} ×",
            "≤ 1.3 ×",
            growth <= 1.3 if pods[0] >= DECIDES_FROM else None,
        ),
    ]


def clean_copy(source: Path, target: Path) -> Path:
    """A copy of a data directory, so that a run starts from the same database."""
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))
