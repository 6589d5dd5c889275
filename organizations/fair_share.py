"""Reads for fair share: a node pool's queues as its scheduler divides among them, and who of them may be named.

Amounts are exact decimals in the unit of people: GPUs, cores, GB.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from clusters.models import Cluster
from clusters.snapshot import Shard, shard_snapshot
from organizations.fair_share_words import Claimant, people
from organizations.models import Department, Project, Quota
from organizations.quota import UNLIMITED
from scheduling.shares import Division, Share
from scheduling.shares_holdings import Changes, Holding, ShardShares, debts_of, debts_to, explain_shard
from topology.hooks import reads_all_work
from topology.models import NodePool

RESOURCES = ("gpu", "cpu", "memory")


@dataclass(frozen=True, slots=True)
class QueueName:
    """How a queue is shown: its owner, if the viewer may know it. `text` "" is a queue that may not be named."""

    text: str
    owner: Department | Project | None = None
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """One node pool at one moment. `names` has every queue of `shares`."""

    pool: NodePool
    shard: Shard
    shares: ShardShares
    names: Mapping[str, QueueName]

    def name(self, queue: str) -> str:
        """The shown name; "" where it may not be told."""
        return self.names[queue].text if queue in self.names else ""

    def division(self, resource: str) -> Division:
        """The steps of one resource."""
        return self.shares.divisions[resource]

    def claimants(self, resource: str, queue: str) -> tuple[list[Claimant], list[Claimant]]:
        """Who may take from the queue, and from whom it may take, the largest first."""
        debts, holdings = self.shares.debts[resource], self.shares.holdings[resource]

        def claimant(other: str, amount: float) -> Claimant:
            waits = people(resource, holdings[other].waits)
            return Claimant(self.name(other), people(resource, amount), waits)

        takers = [claimant(debt.starved, debt.amount) for debt in debts_of(debts, queue)]
        return takers, [claimant(debt.borrower, debt.amount) for debt in debts_to(debts, queue)]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: one queue and one resource, or several queues of a parent that may not be named.

    `deserved` and `limit` −1: unlimited; `weight` and `priority` None: several queues. `state`: starved, borrows,
    waits, idle or content.
    """

    queue: str
    name: QueueName
    depth: int
    hidden: int
    leaf: bool
    deserved: Decimal
    limit: Decimal
    fair: Decimal
    held: Decimal
    fixed: Decimal
    asked: Decimal
    weight: Decimal | None
    priority: int | None
    state: str = "content"
    share: Share | None = None
    holding: Holding | None = None

    @property
    def waits(self) -> Decimal:
        """Asked and not held."""
        return max(self.asked - self.held, Decimal(0))

    @property
    def against_fair(self) -> Decimal:
        """Held beyond (+) or below (−) the fair share."""
        return self.held - self.fair


def fair_share_board(user: Any, pool: NodePool, *, now: datetime, changes: Changes | None = None) -> Board:
    """The pool's queues, as they are or as they would be with `changes`."""
    shard = shard_snapshot(pool.cluster, pool.shard, now=now)
    shares = explain_shard(shard.snapshot, shard.config, changes)
    return Board(pool, shard, shares, queue_names(user, pool.cluster, shares.queues))


def queue_names(user: Any, cluster: Cluster, queues: Iterable[str]) -> dict[str, QueueName]:
    """The names that `user` may see. 3 queries. A department of a project that they see is named, not linked.

    Whoever reads all work of the cluster is told the queue's own name where they may not see its owner.
    """
    quotas = Quota.objects.filter(cluster=cluster).select_related("project", "department")
    owners = {quota.queue_name: quota.owner for quota in quotas}
    projects = set(Project.objects.visible_to(user).filter(cluster=cluster).values_list("pk", "department_id"))
    departments = set(Department.objects.visible_to(user).filter(cluster=cluster).values_list("pk", flat=True))
    above = {department for _project, department in projects}
    theirs = {project for project, _department in projects}
    sees_all = reads_all_work(user, cluster.pk)

    def shown(queue: str) -> QueueName:
        owner = owners.get(queue)
        if isinstance(owner, Project) and owner.pk in theirs:
            return QueueName(owner.name, owner, linked=True)
        if isinstance(owner, Department) and owner.pk in departments | above:
            return QueueName(owner.name, owner, owner.pk in departments)
        return QueueName(queue if sees_all else "", owner)

    return {queue: shown(queue) for queue in queues}


def board_rows(board: Board, resource: str) -> list[Row]:
    """The queues of the board as a tree in order of names; those that may not be named come last, as one row."""
    children: dict[str, list[str]] = defaultdict(list)
    for name, queue in board.shares.queues.items():
        children[queue.parent].append(name)
    return list(_level(board, resource, children, "", 0))


def _level(board: Board, resource: str, children: Mapping[str, Sequence[str]], parent: str, depth: int) -> list[Row]:
    found: list[Row] = []
    named = [queue for queue in children.get(parent, ()) if board.name(queue)]
    for queue in sorted(named, key=lambda each: (board.name(each), each)):
        found.append(_row(board, resource, queue, depth))
        found += _level(board, resource, children, queue, depth + 1)
    hidden = [queue for queue in children.get(parent, ()) if not board.name(queue)]
    return [*found, *([_hidden_row(board, resource, hidden, depth)] if hidden else [])]


def _row(board: Board, resource: str, queue: str, depth: int) -> Row:
    holding, share = board.shares.holdings[resource][queue], board.division(resource).shares[queue]
    leaf = queue in board.shares.leaves
    return Row(
        queue=queue,
        name=board.names[queue],
        depth=depth,
        hidden=0,
        leaf=leaf,
        deserved=bound(resource, holding.deserved),
        limit=bound(resource, share.claim.limit),
        fair=people(resource, holding.fair),
        held=people(resource, holding.held),
        fixed=people(resource, holding.fixed),
        asked=people(resource, holding.asked),
        weight=Decimal(repr(float(share.claim.weight))),
        priority=share.claim.priority,
        state=_state(board, resource, holding) if leaf else "",
        share=share,
        holding=holding,
    )


def _hidden_row(board: Board, resource: str, queues: Sequence[str], depth: int) -> Row:
    holdings = [board.shares.holdings[resource][queue] for queue in queues]

    def added(field: str) -> Decimal:
        return sum((people(resource, getattr(holding, field)) for holding in holdings), Decimal(0))

    unlimited = any(holding.deserved == UNLIMITED for holding in holdings)
    return Row(
        queue="",
        name=QueueName(""),
        depth=depth,
        hidden=len(queues),
        leaf=True,
        deserved=UNLIMITED if unlimited else added("deserved"),
        limit=UNLIMITED,
        fair=added("fair"),
        held=added("held"),
        fixed=added("fixed"),
        asked=added("asked"),
        weight=None,
        priority=None,
        state="",
    )


def _state(board: Board, resource: str, holding: Holding) -> str:
    tests = (
        ("starved", bool(debts_to(board.shares.debts[resource], holding.queue))),
        ("borrows", people(resource, holding.borrowed) > 0),
        ("waits", people(resource, holding.waits) > 0),
        ("idle", people(resource, holding.idle_quota) > 0),
    )
    return next((state for state, holds in tests if holds), "content")


def bound(resource: str, amount: float) -> Decimal:
    """A quota or limit in the unit of people; −1 stays −1."""
    return UNLIMITED if amount == UNLIMITED else people(resource, amount)


@dataclass(frozen=True, slots=True)
class Totals:
    """The pool's figures of one resource: what can be shared and why it is not all, and the sums of the top level."""

    shared: Decimal
    capacity: Decimal
    cordoned: Decimal
    not_ready: Decimal
    foreign: Decimal
    deserved: Decimal
    unlimited: int
    granted: Decimal
    held: Decimal
    fixed: Decimal
    asked: Decimal
    idle_quota: Decimal
    queues: int

    @property
    def free(self) -> Decimal:
        """Neither held nor out of use."""
        return max(self.shared - self.held, Decimal(0))

    @property
    def oversubscribed(self) -> bool:
        """Whether guarantees cannot all hold."""
        return self.deserved > self.shared


def board_totals(board: Board, resource: str) -> Totals:
    """Sums over nodes and over the queues of the top level."""
    nodes = board.shard.snapshot.nodes
    capacity, cordoned, not_ready = (
        sum((people(resource, getattr(node.allocatable, resource)) for node in chosen), Decimal(0))
        for chosen in (
            nodes,
            [node for node in nodes if node.unschedulable],
            [node for node in nodes if not node.ready and not node.unschedulable],
        )
    )
    top = [name for name, queue in board.shares.queues.items() if not queue.parent]
    holdings = [board.shares.holdings[resource][name] for name in top]
    shares = [board.division(resource).shares[name] for name in top]
    leaves = [board.shares.holdings[resource][name] for name in board.shares.leaves]
    shared = people(resource, getattr(board.shares.total, resource))

    def added(amounts: Iterable[float]) -> Decimal:
        return people(resource, sum(amounts))

    return Totals(
        shared=shared,
        capacity=capacity,
        cordoned=cordoned,
        not_ready=not_ready,
        foreign=max(capacity - cordoned - not_ready - shared, Decimal(0)),
        deserved=added(each.deserved for each in holdings if each.deserved != UNLIMITED),
        unlimited=sum(each.deserved == UNLIMITED for each in holdings),
        granted=added(each.guaranteed for each in shares),
        held=added(each.held for each in holdings),
        fixed=added(each.fixed for each in holdings),
        asked=added(each.asked for each in holdings),
        idle_quota=added(each.idle_quota for each in leaves),
        queues=len(board.shares.queues),
    )
