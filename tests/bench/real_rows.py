"""P1, P2 and P4 on a real API server: its own bytes, in turns with the decode floor, kubectl and the official client;
the audit log says what a quiet resync wrote."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.bench.list_ingest import ListIngest, store_pages
from tests.bench.measuring import MIB, Environment, Row, median, run_child, running_child, spread
from tests.cluster import binaries

NODES = 500
ROUNDS = 3
CLIENT = "muster"
WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
ASKING = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews"})


def real_rows(directory: Path, redis_url: str) -> list[Row]:
    """Nothing is decided where the real server's binaries are not built (`make cluster`)."""
    if binaries.missing():
        return [Row("P1", "real API server", "", "not measured: it is not built", "", "", None)]
    home = directory / "real"
    home.mkdir()
    with ExitStack() as stack:
        child = running_child("real_fleet", NODES, home, environment=Environment(home))
        served = stack.enter_context(child)
        return [*_listed(served, home), *_quiet(served, home, redis_url)]


def _listed(served: dict[str, Any], home: Path) -> list[Row]:
    data_dir = home / "data"
    data_dir.mkdir()
    environment = Environment(data_dir)
    first = run_child("ingest", home / "kubeconfig", "first", environment=environment)
    above = first.said["above"] / MIB
    size = store_pages(served, home / "pages")
    compared = ListIngest(home / "kubeconfig", environment, binaries.KUBECTL.path)
    rivals = compared.beside_rivals(served["pods"], size)
    floor = [run_child("rivals", "floor", home / "pages", environment=environment).said["cpu"] for _ in range(ROUNDS)]
    ours = median(compared.cpu["ours"])
    ratio = ours / median(floor)
    what = f"real API server: list {served['pods']:,} pods ({size / MIB:.0f} MiB, TLS), diff, write 1 %"
    beside = f"typed decode of the same bytes in memory: {median(floor):.2f} s{spread(floor)}"
    held = f"{served['memory'] / MIB:.0f} MiB in the server's processes, {served['seconds']:.0f} s until all pods ran"
    memory = f"real API server, {NODES} nodes: peak memory above the start, into an empty database"
    measured = f"{ours:.2f} s CPU{spread(compared.cpu['ours'])}"
    peak = f"{served['pods']:,} pods: {above:.0f} MiB"
    return [
        Row("P1", what, beside, measured, f"{ratio:.2f} × floor", "≤ 3 × floor", ratio <= 3),
        *(_of_real(row) for row in rivals),
        Row("P2", memory, f"process before it begins; {held}", peak, f"{above:.0f} MiB", "≤ 64 MiB", above <= 64),
    ]


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
    what = f"real API server: list every kind again and reconcile {said['defined']} rows, nothing changed"
    return [Row("P4", what, f"{said['pods']:,} pods", counts, f"{len(written)} writes", "0 writes", met)]


def _written(audit: Path, since: str) -> list[str]:
    """Writes of Muster's from a moment on (RFC 3339). KWOK has the same account, another client."""
    found = []
    for line in audit.read_text().splitlines():
        event = json.loads(line)
        about = event.get("objectRef") or {}
        is_write = event["verb"] in WRITING and about.get("resource") not in ASKING
        is_ours = event.get("userAgent", "").startswith(CLIENT)
        if is_write and is_ours and event["requestReceivedTimestamp"] >= since:
            found.append(f"{event['verb']} {event['requestURI']}")
    return found
