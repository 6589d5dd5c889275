"""What the overview says, read from the packages below: every figure opens the list behind it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Sum
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext

from accounts.models import User
from accounts.permissions import has_right
from clusters.components import COMPONENTS
from clusters.gpus import GpuStrip
from clusters.models import Cluster
from clusters.node_presenting import uncounted_words
from clusters.selectors import WatchState, gpu_strip, stale_clusters
from controlplane import health
from controlplane.first_steps import first_steps
from core.templatetags.quantities import gpus as in_words
from core.templatetags.quantities import percent
from metrics.figures import utilisation_figure
from metrics.recording import STEP
from metrics.selectors import utilisation_over_time
from topology.models import NodePool
from topology.selectors.nodes import PoolFigures, pool_figures
from workloads.models import Workload
from workloads.selectors import PHASE_ORDER
from workloads.words import reason_short

# What a bar of phases draws first, and the fill of each phase.
PHASE_FILLS = (
    ("Running", "running"),
    ("Degraded", "degraded"),
    ("Pending", "pending"),
    ("Failed", "failed"),
    ("Stopped", "stopped"),
    ("Completed", "completed"),
)
MAX_POOLS = 8
MAX_CLUSTERS = 5
CHART_HOURS = 6


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure of the strip, as components/strip.html draws it."""

    label: str
    value: Decimal | int | None
    sub: str = ""
    small: str = ""
    url: str = ""
    state: str = ""
    part: bool = False


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """How many workloads are in a phase, and the GPUs that they hold or ask for."""

    phase: str
    count: int
    gpus: str
    url: str


@dataclass(frozen=True, slots=True)
class CauseRow:
    """Why work waits: one cause, how many workloads, what they ask for, the first of them."""

    cause: str
    count: int
    gpus: Decimal
    first: Workload
    url: str

    @property
    def others(self) -> int:
        """How many wait for it beside the first."""
        return self.count - 1


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A node pool and how full it is."""

    pool: NodePool
    figures: PoolFigures

    @property
    def share(self) -> str:
        """Which part of it is allocated, in words."""
        gpus = self.figures.gpus
        return percent(gpus.allocated, gpus.total) if gpus.total else "–"

    @property
    def parts(self) -> list[tuple[str, Decimal | int]]:
        """What its bar is made of."""
        gpus = self.figures.gpus
        return [("allocated", gpus.allocated), ("cordoned", gpus.cordoned), ("unhealthy", gpus.unhealthy)]


@dataclass(frozen=True, slots=True)
class ComponentRow:
    """A component of a cluster, with the word for its health."""

    title: str
    version: str
    phase: str


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """A cluster's components; `watch` says why what is shown of it is not current, None where it is."""

    cluster: Cluster
    watch: WatchState | None

    @property
    def components(self) -> list[ComponentRow]:
        """Those that it has, and those that it should have."""
        found = {entry["key"]: entry for entry in self.cluster.components}
        return [
            ComponentRow(part.title, entry.get("version", ""), str(entry["health"]).capitalize())
            for part in COMPONENTS
            if (entry := found.get(part.key)) and (part.required or entry["health"] != "missing")
        ]


def strip_tiles(strip: GpuStrip, pools: int, query: str) -> list[Tile]:
    """Tiles that add up: total = allocated + free + cordoned + unhealthy."""
    nodes = reverse("clusters:node-list")

    def where(*terms: str) -> str:
        return f"{nodes}?{'&'.join(filter(None, [query, *(urlencode({'filter': term}) for term in terms)]))}"

    count = ngettext("%(n)d node", "%(n)d nodes", strip.nodes) % {"n": strip.nodes}
    pooled = ngettext("%(n)d pool", "%(n)d pools", pools) % {"n": pools}
    over = gettext("%(n)s allocated beyond what nodes can give") % {"n": in_words(strip.over)} if strip.over else ""
    if strip.uncounted:
        over = ", ".join(filter(None, (over, uncounted_words(strip.uncounted))))
    tiles = [
        Tile(gettext("GPUs in total"), strip.total, sub=f"{count}, {pooled}" if strip.known else pooled, url=where()),
        Tile(
            gettext("Allocated"),
            strip.allocated,
            sub=over,
            small=percent(strip.allocated, strip.total) if strip.total else "",
            url=where(),
            state="allocated",
        ),
        Tile(gettext("Free"), strip.free, url=where("free>=0.0001"), state="free"),
        Tile(gettext("Cordoned"), strip.cordoned, url=where("state==Cordoned"), state="cordoned"),
        Tile(gettext("Unhealthy"), strip.unhealthy, url=where("state==Unhealthy"), state="unhealthy"),
    ]
    return tiles if strip.known else [replace(tile, value=None) for tile in tiles]


def strip_parts(strip: GpuStrip) -> list[tuple[str, Decimal]]:
    """What the strip's bar is made of; what is left is free."""
    return [
        ("allocated", strip.allocated),
        ("cordoned", strip.cordoned),
        ("unhealthy", strip.unhealthy),
        ("free", strip.free),
    ]


def phase_rows(user: User, cluster: Cluster | None, query: str) -> list[PhaseRow]:
    """Workloads by phase, what needs a person first. One query."""
    rows = _workloads(user, cluster).values("phase").order_by()
    found = {
        row["phase"]: row for row in rows.annotate(n=Count("pk"), held=Sum("gpus_held"), asked=Sum("gpus_requested"))
    }
    known = [phase for phase in PHASE_ORDER if phase in found]
    return [_phase_row(found[phase], query) for phase in [*known, *sorted(found.keys() - set(known))]]


def phase_parts(rows: Iterable[PhaseRow]) -> list[tuple[str, int]]:
    """What the bar of phases is made of."""
    counts = {row.phase: row.count for row in rows}
    return [(fill, counts.get(phase, 0)) for phase, fill in PHASE_FILLS]


def waiting_causes(user: User, cluster: Cluster | None, query: str) -> list[CauseRow]:
    """Why pending work waits, the cause with the most GPUs first. One query."""
    causes: dict[str, list[Workload]] = {}
    for workload in _workloads(user, cluster).filter(phase="Pending").order_by("waiting_since", "pk"):
        causes.setdefault(str(reason_short(workload.waiting_reason) or gettext("Not said yet")), []).append(workload)
    url = _list_url("Pending", query)
    rows = [
        CauseRow(cause, len(waiting), sum((w.gpus_requested for w in waiting), Decimal(0)), waiting[0], url)
        for cause, waiting in causes.items()
    ]
    return sorted(rows, key=lambda row: (-row.gpus, row.cause))


def pool_rows(user: User, cluster: Cluster | None) -> tuple[list[PoolRow], int]:
    """The first node pools by name, and how many there are. Four queries."""
    pools = NodePool.objects.visible_to(user).select_related("network_topology", "cluster")
    if cluster is not None:
        pools = pools.filter(cluster=cluster)
    shown = list(pools.order_by("name", "pk")[:MAX_POOLS])
    figures = pool_figures(shown)
    return [PoolRow(pool, figures[pool.pk]) for pool in shown], pools.count()


def cluster_health(user: User, cluster: Cluster | None) -> list[ClusterHealth]:
    """The chosen cluster, or the first ones of all."""
    clusters = Cluster.objects.visible_to(user).order_by("name")
    shown: Sequence[Cluster] = [cluster] if cluster else list(clusters[:MAX_CLUSTERS])
    stale = {found.pk: state for found, state in stale_clusters(user, cluster)}
    return [ClusterHealth(found, stale.get(found.pk)) for found in shown]


def utilisation_chart(user: User, cluster: Cluster | None) -> dict[str, Any] | None:
    """Average utilisation of the measured GPUs per cluster; None where nothing was recorded yet."""
    clusters = [cluster] if cluster else list(Cluster.objects.visible_to(user).order_by("name")[:MAX_CLUSTERS])
    lines = [(line.name, line.points) for line in utilisation_over_time(clusters, CHART_HOURS)]
    return utilisation_figure(lines, step=STEP) if lines else None


def context(user: User, cluster: Cluster | None) -> dict[str, Any]:
    """Everything that the page draws; a panel whose right is missing is absent, not empty."""
    query = urlencode({"cluster": cluster.name}) if cluster else ""
    shown: dict[str, Any] = {"cluster": cluster, "health": cluster_health(user, cluster), "notices": health.notices()}
    pools: list[PoolRow] = []
    count = 0
    if has_right(user, "nodepools:read"):
        pools, count = pool_rows(user, cluster)
        shown |= {"pools": pools, "more_pools": count - len(pools)}
    if has_right(user, "nodes:read"):
        strip = gpu_strip(user, cluster)
        shown |= {"strip": strip, "tiles": strip_tiles(strip, count, query), "strip_parts": strip_parts(strip)}
    if has_right(user, "dashboards-analytics:read"):
        shown |= {"chart": utilisation_chart(user, cluster), "chart_hours": CHART_HOURS}
    if has_right(user, "workloads:read"):
        phases = phase_rows(user, cluster, query)
        causes = waiting_causes(user, cluster, query)
        shown |= {
            "phases": phases,
            "phase_parts": phase_parts(phases),
            "workload_count": sum(row.count for row in phases),
            "causes": causes,
            "waiting_gpus": sum((row.gpus for row in causes), Decimal(0)),
            "can_submit": has_right(user, "workloads:create"),
            "steps": [] if phases else first_steps(user, cluster),
        }
    return shown


def _workloads(user: User, cluster: Cluster | None) -> Any:
    rows = Workload.objects.visible_to(user)
    return rows if cluster is None else rows.filter(cluster=cluster)


def _phase_row(row: dict[str, Any], query: str) -> PhaseRow:
    phase = row["phase"]
    text: str | Promise = ""
    if phase == "Pending":
        text = gettext("%(n)s GPUs asked") % {"n": in_words(row["asked"])}
    elif row["held"]:
        text = gettext("%(n)s GPUs") % {"n": in_words(row["held"])}
    return PhaseRow(phase, row["n"], str(text), _list_url(phase, query))


def _list_url(phase: str, query: str) -> str:
    return f"{reverse('workloads:list')}?{'&'.join(filter(None, [query, urlencode({'filter': f'phase=={phase}'})]))}"
