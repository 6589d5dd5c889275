"""P6 and P11: trees, fair shares and impacts of a node pool at two sizes. Counts and ratios decide."""

from pathlib import Path
from typing import Any

from tests.bench.measuring import Environment, Row, run_child

PAGES = ("page of a node pool", "page of a topology")
MOST_ELEMENTS = 2500
BYTES_RATIO = 1.25


def pool_rows(directory: Path, sizes: tuple[int, int]) -> list[Row]:
    """A row for each page and each question: pages keep their size, questions grow with the nodes."""
    runs = []
    for count in sizes:
        data_dir = directory / f"pools-{count}"
        data_dir.mkdir()
        runs.append(dict(run_child("pools", count, environment=Environment(data_dir)).said))
    return [_row(name, runs[0][name], runs[1][name], sizes) for name in runs[1]]


def _row(name: str, small: dict[str, Any], large: dict[str, Any], sizes: tuple[int, int]) -> Row:
    growth, most = large["cpu"] / small["cpu"], 1.2 * sizes[1] / sizes[0]
    same = large["sql"] == small["sql"] and small["status"] == large["status"] == 200
    met = same and growth <= most
    bar = f"SQL same, CPU ≤ {most:.0f} ×"
    if large["elements"]:
        met = met and large["elements"] <= MOST_ELEMENTS
        bar += f", ≤ {MOST_ELEMENTS:,} elements"
    if name in PAGES:
        met = met and large["bytes"] <= BYTES_RATIO * small["bytes"]
        bar += f", bytes ≤ {BYTES_RATIO} ×"
    ratio = f"{growth:.1f} × CPU, {large['bytes'] / small['bytes']:.2f} × bytes"
    what = f"{name}, {sizes[0]:,} and {sizes[1]:,} nodes"
    return Row("P6" if large["elements"] else "P11", what, _text(small), _text(large), ratio, bar, met)


def _text(asked: dict[str, Any]) -> str:
    elements = f", {asked['elements']:,} elements" if asked["elements"] else ""
    cost = f"{1000 * asked['cpu']:.0f} ms (first {1000 * asked['first']:.0f})"
    return f"{asked['sql']} SQL, {cost}, {asked['bytes'] / 1024:.0f} KiB{elements}"
