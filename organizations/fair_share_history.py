"""History of fair share: what each queue deserved, got, held and asked, every few minutes, for some days.

One packed row a pool and moment: MessagePack of `Moment.queues`, compressed. Amounts are the engine's (devices,
millicores, bytes).
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from django.utils import timezone

from clusters.models import Cluster
from clusters.snapshot import STALE, shard_snapshot
from organizations.fair_share import RESOURCES
from organizations.models import FairShareRecord
from scheduling.shares_holdings import ShardShares, explain_shard
from topology.models import NodePool

KEPT = timedelta(days=14)
EVERY = timedelta(minutes=5)
MOST_POINTS = 1000


class Amounts(msgspec.Struct, frozen=True, array_like=True):
    """One queue and resource. Deserved and limit −1: unlimited."""

    deserved: float
    limit: float
    weight: float
    fair: float
    held: float
    fixed: float
    asked: float


class QueueMoment(msgspec.Struct, frozen=True, array_like=True):
    """One queue: its priority, and amounts in the order of `RESOURCES`."""

    priority: int
    amounts: tuple[Amounts, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A pool at one moment, by queue."""

    at: datetime
    queues: Mapping[str, QueueMoment]


def record_fair_shares(cluster: Cluster, *, now: datetime) -> int:
    """Write down every pool's division, once a period of `EVERY`; returns how many are new. A cluster that is not
    current is left out: a gap is true, a repeated old figure is not."""
    done = 0
    at = datetime.fromtimestamp(now.timestamp() // EVERY.total_seconds() * EVERY.total_seconds(), tz=now.tzinfo)
    for pool in NodePool.objects.filter(cluster=cluster, deletion_requested_at=None):
        shard = shard_snapshot(cluster, pool.shard, now=now)
        if STALE in shard.unknown or not shard.snapshot.queues:
            continue
        content = pack(explain_shard(shard.snapshot, shard.config))
        _row, made = FairShareRecord.objects.get_or_create(
            cluster=cluster, pool=pool.shard, at=at, defaults={"content": content}
        )
        done += made
    return done


def pack(shares: ShardShares) -> bytes:
    """The division of all queues and resources as one blob."""
    queues = {
        name: QueueMoment(queue.priority, tuple(_amounts(shares, name, resource) for resource in RESOURCES))
        for name, queue in shares.queues.items()
    }
    return zlib.compress(msgspec.msgpack.encode(queues))


def _amounts(shares: ShardShares, queue: str, resource: str) -> Amounts:
    holding, claim = shares.holdings[resource][queue], shares.divisions[resource].shares[queue].claim
    return Amounts(
        holding.deserved, claim.limit, claim.weight, holding.fair, holding.held, holding.fixed, holding.asked
    )


def unpack(content: bytes) -> dict[str, QueueMoment]:
    """What `pack` made."""
    return msgspec.msgpack.decode(zlib.decompress(content), type=dict[str, QueueMoment])


def history(pool: NodePool, since: datetime) -> Iterator[Moment]:
    """Moments from `since` on, in order; evenly thinned to at most `MOST_POINTS`."""
    rows = FairShareRecord.objects.filter(cluster=pool.cluster_id, pool=pool.shard, at__gte=since)
    keys = list(rows.order_by("at").values_list("pk", flat=True))
    step = -(-len(keys) // MOST_POINTS) or 1
    chosen = keys[::-step][::-1]
    for row in FairShareRecord.objects.filter(pk__in=chosen).order_by("at").iterator():
        yield Moment(row.at, unpack(bytes(row.content)))


def delete_outdated(now: datetime | None = None) -> int:
    """Drop what is older than `KEPT`; returns how many rows went."""
    deleted, _by_model = FairShareRecord.objects.filter(at__lt=(now or timezone.now()) - KEPT).delete()
    return deleted


def series(moments: Sequence[Moment], queue: str, resource: str) -> list[tuple[datetime, Amounts | None]]:
    """One queue over time; None at moments where it did not exist."""
    index = RESOURCES.index(resource)
    there = [(moment.at, moment.queues.get(queue)) for moment in moments]
    return [(at, found.amounts[index] if found else None) for at, found in there]


def priorities(moments: Sequence[Moment], queue: str) -> dict[datetime, int]:
    """The queue's priority at every moment where it existed."""
    return {moment.at: found.priority for moment in moments if (found := moment.queues.get(queue))}
