"""The stages of a run beside list ingest: watch, quiet resync, tasks, placement. Each starts what it needs."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.list_ingest import clean_copy
from tests.bench.measuring import (
    Environment,
    Row,
    median,
    percentile,
    run_child,
    running_child,
    running_command,
    spread,
)

FLUSH = 0.25  # what the watcher promises: one transaction a kind in this time
PACE = "the watcher's pace: 250 ms"
RATE = 400
PACED_SECONDS = 10
CLICKS = 100


def watch_rows(pages: Path, database: Path, *, fast_events: int) -> list[Row]:
    """P3: the replayed stream as fast as it goes in memory, then at 400 events a second into rows."""
    environment = Environment(clean_copy(database, database.with_name("watch")))
    with running_child("replay", pages, fast_events, 0, environment=environment) as replay:
        runs = [
            run_child("watching", "memory", replay["url"], fast_events, environment=environment).said for _ in range(2)
        ]
    ours, bare = median([run["cpu"] for run in runs]), median([run["decode"] for run in runs])
    rates = [fast_events / run["cpu"] for run in runs]
    events = RATE * PACED_SECONDS
    with running_child("replay", pages, events, RATE, environment=environment) as replay:
        paced = run_child("watching", "rows", replay["url"], events, environment=environment).said
    sent = json.loads(pages.with_suffix(".sent").read_text())
    return [
        Row(
            "P3",
            f"follow {fast_events:,} watch events in memory",
            f"decode alone: {fast_events / bare:,.0f} events/s",
            f"{median(rates):,.0f} events/s and core{spread(rates)}",
            f"{ours / bare:.1f} × floor",
            "≥ 10,000 events/s and core",
            median(rates) >= 10_000,
        ),
        *paced_rows(paced, sent, f"{events:,} events at {RATE}/s into rows"),
    ]


def paced_rows(
    paced: Mapping[str, Any],
    sent: Sequence[tuple[str, float]],
    what: str,
    *,
    beside: str = PACE,
    begin: str = "event sent",
) -> list[Row]:
    """Transactions, and how long after the moments in `sent` rows were there. `what` was followed; `begin` says what
    those moments are."""
    commits: list[float] = sorted(paced["commits"])
    busy = Counter(int((moment - commits[0]) / FLUSH) for moment in commits)
    span = commits[-1] - commits[0] + FLUSH
    bar = int(span / FLUSH) + 1
    latest = dict(sent)
    lags = [moment - latest[uid] for uid, moment in paced["told"] if moment >= latest.get(uid, moment + 1)]
    p99 = percentile(lags, 0.99)
    return [
        Row(
            "P3",
            f"{what}: transactions of the kind",
            f"{span:.1f} s in parts of 250 ms: {bar}",
            f"{len(commits)} transactions, {max(busy.values())} in the fullest part",
            f"{len(commits) * FLUSH / span:.2f} per 250 ms",
            "≤ 1 per 250 ms",
            len(commits) <= bar,
        ),
        Row(
            "P3",
            f"{what}: from the {begin} to its row committed",
            beside,
            f"p50 {1000 * percentile(lags, 0.5):.0f} ms, p99 {1000 * p99:.0f} ms",
            f"{p99 / FLUSH:.1f} × pace",
            "p99 ≤ 4 × pace (1 s)",
            p99 <= 4 * FLUSH,
        ),
    ]


def resync_rows(clusters: list[tuple[int, Path]], directory: Path, redis_url: str) -> list[Row]:
    """P4, and the tasks of P9, at two sizes."""
    said = []
    for nodes, kubeconfig in clusters:
        data_dir = directory / f"resync-{nodes}"
        data_dir.mkdir()
        said.append(run_child("resync", kubeconfig, environment=Environment(data_dir, redis_url)).said)
    small, large = said
    sizes = f"{small['pods']:,} and {large['pods']:,} pods"
    rows = [_quiet_row(small["again"], large["again"], sizes), _reconciled_row(said, sizes)]
    first = large["first"]["tasks"]
    cycle = large["reconciled"]["tasks"]
    cost = f"{large['first']['wall']:.0f} s, {large['first']['cpu']:.0f} s CPU"
    rows.append(
        Row(
            "P9",
            f"tasks published by the first sync of everything ({large['nodes']:,} nodes, {large['pods']:,} pods)",
            f"{small['pods']:,} pods: {small['first']['tasks']}",
            f"{large['pods']:,} pods: {first} ({cost})",
            f"{first} tasks",
            "≤ 10",
            first <= 10,
        )
    )
    rows.append(
        Row(
            "P9",
            f"tasks of a sync cycle, every one of {large['defined']} defined rows due",
            f"{small['pods']:,} pods: {small['reconciled']['tasks']}",
            f"{large['pods']:,} pods: {cycle}",
            f"{cycle} tasks",
            "≤ 10",
            cycle <= 10,
        )
    )
    return rows


def _quiet_row(small: dict[str, int], large: dict[str, int], sizes: str) -> Row:
    counts = f"{large['all']} SQL, {large['writes']} writes, {large['kubernetes']} to Kubernetes, "
    met = large["all"] <= 5 and not (large["writes"] or large["kubernetes"] or large["messages"]) and small == large
    return Row(
        "P4",
        f"list every kind again, nothing changed ({sizes})",
        f"at the small size: {small['all']} SQL, {small['writes']} writes",
        counts + f"{large['messages']} messages to pages",
        "same at both sizes" if small == large else "differs",
        "≤ 5 SQL, 0 writes of any sort, same at both sizes",
        met,
    )


def _reconciled_row(said: list[dict[str, Any]], sizes: str) -> Row:
    small, large = (each["reconciled"] for each in said)
    met = not (large["kubernetes"] or large["messages"]) and small["all"] == large["all"]
    return Row(
        "P4",
        f"reconcile all {said[1]['defined']} defined rows again, nothing changed ({sizes})",
        f"at the small size: {small['all']} SQL, {small['cpu']:.2f} s CPU",
        f"{large['all']} SQL ({large['writes']} of leases and times), {large['kubernetes']} writes to Kubernetes, "
        f"{large['messages']} messages to pages, {large['cpu']:.2f} s CPU",
        "same at both sizes" if small["all"] == large["all"] else "differs",
        "0 Kubernetes writes, 0 messages, SQL same at both sizes",
        met,
    )


def click_rows(database: Path, redis_url: str) -> list[Row]:
    """P9: a click beside a bare round trip, both through real workers."""
    environment = Environment(clean_copy(database, database.with_name("clicks")), redis_url)
    celery = [sys.executable, "-m", "celery"]
    options = ["--loglevel", "ERROR", "--concurrency", "4", "--without-mingle", "--without-gossip"]
    ours = [*celery, "-A", "tests.bench.stamping", "worker", *options, "--queues", "reconcile", "-n", "ours@%h"]
    bare = [*celery, "-A", "tests.bench.bare", "worker", *options, "--queues", "bare", "-n", "bare@%h"]
    with running_command(ours, environment), running_command(bare, environment):
        said = run_child("clicks", CLICKS, environment=environment).said
    p99 = {name: percentile(said[name], 0.99) for name in ("trips", "starts")}
    p50 = {name: percentile(said[name], 0.5) for name in ("trips", "starts")}
    ratio = p99["starts"] / p99["trips"]
    return [
        Row(
            "P9",
            f"from a click to the start of its reconcile in a worker, {CLICKS} times",
            f"bare Celery round trip: p50 {1000 * p50['trips']:.1f} ms, p99 {1000 * p99['trips']:.1f} ms",
            f"p50 {1000 * p50['starts']:.1f} ms, p99 {1000 * p99['starts']:.1f} ms",
            f"{ratio:.1f} × floor at p99",
            "≤ 10 × floor",
            ratio <= 10,
        )
    ]


def placing_rows(nodes: tuple[int, int], environment: Environment) -> list[Row]:
    """P11's speed: one preview on a shard that stands, with the first one on a new snapshot told beside it."""
    runs = [run_child("placing", count, environment=environment).said for count in nodes]
    costs = [median(run["preview"]) for run in runs]
    floor = median(runs[1]["pass"])
    anew = median([a + b for a, b in zip(runs[1]["prepare"], runs[1]["first"], strict=True)])
    growth, bar = costs[1] / costs[0], 12.0 * nodes[1] / nodes[0] / 10
    what = f"preview a gang of 512 pods on {nodes[1]:,} nodes, 4 levels, half of the GPUs held"
    text = f"{1000 * costs[1]:.0f} ms CPU{spread(runs[1]['preview'])}; {runs[1]['memory']:.0f} MB"
    return [
        Row(
            "P11",
            f"{what} (a new snapshot's first one: {1000 * anew:.0f} ms, {anew / floor:.0f} × floor)",
            f"one pass over the node array: {1000 * floor:.1f} ms",
            text,
            f"{costs[1] / floor:.1f} × floor",
            "≤ 10 × floor",
            costs[1] <= 10 * floor,
        ),
        Row(
            "P11",
            what,
            f"{nodes[0]:,} nodes: {1000 * costs[0]:.0f} ms",
            text,
            f"{growth:.1f} ×",
            f"≤ {bar:.0f} ×",
            growth <= bar,
        ),
    ]


# Their bytes are the GPUs themselves.
WHOLE = frozenset({"GPU map's data"})


def page_rows(databases: tuple[Path, Path], sizes: tuple[int, int]) -> list[Row]:
    """P6, and the server's part of P7: every page at two sizes."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for _ in range(3):  # in turns: a machine that grows busy meanwhile must not look like a page that grows slow
        for found, database in zip(runs, databases, strict=True):
            found.append(dict(run_child("pages", environment=Environment(database)).said))
    small, large = map(_quietest, runs)
    rows = [_page_row(name, small[name], large[name], sizes) for name in large]
    page = large["GPU map's data"]
    text = f"{1000 * page['cpu']:.1f} ms CPU, {page['sql']} SQL"
    beside = f"the page of clusters: {1000 * large['clusters']['cpu']:.1f} ms"
    ratio = page["cpu"] / large["clusters"]["cpu"]
    bar = "≤ 1 × that page (the goal’s 2 ms are without the request around it)"
    rows.append(Row("P7", f"data of {8 * sizes[1]:,} GPUs, kept", beside, text, f"{ratio:.2f} ×", bar, ratio <= 1))
    sent = page["bytes"] / 1000
    what = f"data of {8 * sizes[1]:,} GPUs, sent compressed"
    rows.append(Row("P7", what, "–", f"{page['bytes']:,} bytes", f"{sent:.0f} kB", "≤ 60 kB", sent <= 60))
    return rows


def _quietest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run in which each page was quickest: what the machine added is least in it."""
    return {name: min((run[name] for run in runs), key=lambda page: page["cpu"]) for name in runs[0]}


def _page_row(name: str, small: dict[str, Any], large: dict[str, Any], sizes: tuple[int, int]) -> Row:
    """Counts decide; CPU with a margin of 3 ms, below which a page is only noise."""
    growth = large["cpu"] / small["cpu"]
    same = large["sql"] == small["sql"] and small["status"] == large["status"] == 200
    slim = name in WHOLE or large["bytes"] <= 1.25 * small["bytes"]
    quick = large["cpu"] <= 1.25 * small["cpu"] + 0.003
    few = large["elements"] <= 2500

    def text(page: dict[str, Any]) -> str:
        elements = f", {page['elements']} elements" if page["elements"] else ""
        return f"{page['sql']} SQL, {1000 * page['cpu']:.0f} ms, {page['bytes'] / 1024:.0f} KiB{elements}"

    bytes_bar = "" if name in WHOLE else "bytes ≤ 1.25 ×, "
    bar = f"SQL same, CPU ≤ 1.25 × + 3 ms, {bytes_bar}≤ 2,500 elements"
    ratio = f"{growth:.2f} × CPU, {large['bytes'] / small['bytes']:.2f} × bytes"
    what = f"page “{name}” at {sizes[0]:,} and {sizes[1]:,} nodes"
    return Row("P6", what, text(small), text(large), ratio, bar, same and slim and quick and few)
