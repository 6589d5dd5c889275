"""P5: lists of the REST API beside the bare fetch of their columns and beside the plain ModelSerializer."""

from pathlib import Path

from tests.bench.measuring import Environment, Row, run_child

MOST_STATEMENTS = 4
FLOOR_RATIO = 1.5
PLAIN_RATIO = 2.5


def api_rows(directory: Path) -> list[Row]:
    """Three rows a list: SQL statements at 1, 100 and 1,000 rows, CPU over the floor, CPU under the ModelSerializer."""
    data_dir = directory / "api"
    data_dir.mkdir()
    said = run_child("api_lists", environment=Environment(data_dir)).said
    rows = []
    for name, found in said.items():
        counts = list(found["sql"].values())
        what = f"list 1,000 {name} by REST"
        ours, floor, plain = (1000 * found[part] for part in ("ours", "floor", "plain"))
        rows += [
            Row(
                "P5", f"{what}: SQL statements at 1, 100, 1,000 rows", "–", ", ".join(map(str, counts)), "–",
                f"constant, ≤ {MOST_STATEMENTS}", len(set(counts)) == 1 and counts[0] <= MOST_STATEMENTS,
            ),
            Row(
                "P5", f"{what}: CPU", f"values_list: {floor:.0f} ms", f"{ours:.0f} ms", f"{ours / floor:.1f} × floor",
                f"≤ {FLOOR_RATIO} × floor", ours <= FLOOR_RATIO * floor,
            ),
            Row(
                "P5", f"{what}: CPU beside the plain ModelSerializer", f"ModelSerializer: {plain:.0f} ms",
                f"{ours:.0f} ms", f"{plain / ours:.1f} × faster", f"≥ {PLAIN_RATIO} × faster",
                plain >= PLAIN_RATIO * ours,
            ),
        ]  # fmt: skip
    return rows
