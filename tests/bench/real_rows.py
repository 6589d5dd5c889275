"""P1 to P4 on a real API server: its own bytes, in turns with the decode floor, kubectl and the official client; 400
changes a second; the audit log says what a quiet resync wrote."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench.list_ingest import ROUNDS, ListIngest, first_ingest, store_pages
from tests.bench.measuring import MIB, Environment, Row, percentile, run_child, running_child
from tests.bench.stages import PACE, PACED_SECONDS, RATE, paced_rows
from tests.cluster import binaries

ROOM_A_NODE = 3 * MIB
"""What etcd, the API server and KWOK hold of a node and its pods, with room for a list of all of them."""
KEPT_RATE = 0.95
CLIENT = "muster"
WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
ASKING = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews"})


def real_rows(directory: Path, redis_url: str, wanted: int, *, rounds: int = ROUNDS) -> list[Row]:
    """With so many nodes, or as many as the memory holds; lists are read so many times. Nothing is decided where the
    real server's binaries are not built (`make cluster`)."""
    if binaries.missing():
        return [Row("P1", "real API server", "", "not measured: it is not built", "", "", None)]
    home = directory / "real"
    home.mkdir()
    nodes = min(wanted, _available() // ROOM_A_NODE)
    with running_child("real_fleet", nodes, home, environment=Environment(home)) as served:
        return [*_listed(served, home, nodes, rounds), *_watched(home, redis_url), *_quiet(served, home, redis_url)]


def _available() -> int:
    """Bytes that can be taken without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def _listed(served: dict[str, Any], home: Path, nodes: int, rounds: int) -> list[Row]:
    above = first_ingest(home / "kubeconfig", home, "data").said["above"] / MIB
    size = store_pages(served, home / "pages")
    compared = ListIngest(home / "kubeconfig", Environment(home / "data"), binaries.KUBECTL.path, rounds)
    rows = [
        *compared.beside_floor(home / "pages", served["pods"], size=size),
        *compared.beside_rivals(served["pods"], size),
    ]
    beside = (
        f"process before it begins; {served['memory'] / MIB:.0f} MiB in the server's processes, "
        f"{served['seconds']:.0f} s until all pods ran"
    )
    what = f"{nodes:,} nodes: peak memory above the start, into an empty database"
    peak = f"{served['pods']:,} pods: {above:.0f} MiB"
    memory = Row("P2", what, beside, peak, f"{above:.0f} MiB", "≤ 64 MiB", above <= 64)
    return [_of_real(row) for row in (*rows, memory)]


def _watched(home: Path, redis_url: str) -> list[Row]:
    """P3: pods changed by another client, followed with every kind and everybody told."""
    data_dir = home / "watch"
    data_dir.mkdir()
    environment = Environment(data_dir, redis_url)
    asked = ("real", home / "kubeconfig", RATE * PACED_SECONDS, RATE)
    said = run_child("watching", *asked, environment=environment).said
    made = [(uid, answered) for uid, _sent, answered in sorted(said["changed"], key=lambda each: each[2])]
    answers = [1000 * (answered - sent) for _uid, sent, answered in said["changed"]]
    p50, p99 = (percentile(answers, share) for share in (0.5, 0.99))
    beside = f"{PACE}; the server answered in p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    rate = len(made) / (made[-1][1] - made[0][1])
    what, bar = f"{len(made):,} changes of pods at {RATE}/s", KEPT_RATE * RATE
    pace = Row("P3", f"{what}: made", f"{RATE}/s", f"{rate:.0f}/s", f"{rate:.0f}/s", f"≥ {bar:.0f}/s", rate >= bar)
    seen = {**said, "told": _seen_after(said["told"], made)}
    begin = "server's answer"
    rows = paced_rows(seen, made, f"{what} into rows", beside=beside, begin=begin)
    return [_of_real(row) for row in (pace, *rows)]


def _seen_after(told: Sequence[tuple[str, float]], made: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """When each change was seen, which may be before its maker had the server's answer: then at that moment."""
    answered = dict(made)
    return [(uid, max(moment, answered[uid])) for uid, moment in told if uid in answered]


def _of_real(row: Row) -> Row:
    return Row(row.goal, f"real API server: {row.what}", row.floor, row.measured, row.ratio, row.bar, row.met)


def _quiet(served: dict[str, Any], home: Path, redis_url: str) -> list[Row]:
    """Everything read and reconciled, then again: what the audit log holds of the second time."""
    data_dir = home / "resync"
    data_dir.mkdir()
    said = run_child("resync", home / "kubeconfig", environment=Environment(data_dir, redis_url)).said
    written = _written(Path(served["audit"]), said["quietFrom"])
    counts = f"{said['again']['all']} SQL, {said['again']['writes']} writes; {len(written)} writes in the audit log"
    met = not written and not said["again"]["writes"]
    what = f"list every kind again and reconcile {said['defined']} rows, nothing changed"
    return [_of_real(Row("P4", what, f"{said['pods']:,} pods", counts, f"{len(written)} writes", "0 writes", met))]


def _written(audit: Path, since: str) -> list[str]:
    """Writes of Muster's from a moment on (RFC 3339). KWOK has the same account, another client."""
    found = []
    for event in _audited(audit):
        about = event.get("objectRef") or {}
        is_write = event["verb"] in WRITING and about.get("resource") not in ASKING
        is_ours = event.get("userAgent", "").startswith(CLIENT)
        if is_write and is_ours and event["requestReceivedTimestamp"] >= since:
            found.append(f"{event['verb']} {event['requestURI']}")
    return found


def _audited(log: Path) -> Iterator[dict[str, Any]]:
    """The events of an audit log and of what the server has put aside of it, which it does every 100 MB."""
    for part in log.parent.glob(f"{log.stem}*{log.suffix}"):
        with part.open() as lines:
            yield from map(json.loads, lines)
