"""What an edit would do: two snapshots of a shard compared, by running the engine on both.

Facts about gangs and queues, without words. What costs too much to check is counted, not left out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from scheduling.cycle import run_cycle
from scheduling.golden import after as after_cycle
from scheduling.impact_edits import constraints_of
from scheduling.shares_holdings import Holding, ShardShares, explain_shard
from scheduling.structs import FINISHED, Queue, SchedulerConfig, Snapshot

CYCLES = 3
"""So many cycles are played: an eviction frees room for the next one's decision."""
LARGE = 1000
"""On shards of more nodes a single cycle is played, which takes a second or two there."""
WORK = 40_000
"""Bound of the restart checks of one comparison, in nodes looked at: 8 gangs on 5,000 nodes, 60 on small shards."""
MOST_CHECKS = 60
TINY = 1e-6


class Effect(StrEnum):
    """What happens to a gang, worst first."""

    RECLAIMED = "reclaimed"
    """Running pods are evicted for somebody who waits."""
    LOSES_NODES = "loses-nodes"
    """Running pods stand on nodes that go."""
    QUEUE_GONE = "queue-gone"
    """Its queue is deleted: it never starts again."""
    STOPS_FITTING = "stops-fitting"
    """It runs or would start now, and could not be started any more."""
    LOSES_CONSTRAINT = "loses-constraint"
    GAINS_CONSTRAINT = "gains-constraint"
    CHANGES_CONSTRAINT = "changes-constraint"
    STARTS = "starts"
    """It waits, and would start."""


class Standing(StrEnum):
    """How a queue stands to its fair share."""

    UNDER = "under"
    WITHIN = "within"
    OVER = "over"


class Hit(msgspec.Struct, frozen=True):
    """One gang and one effect. ``gpus``: those it holds, or asks for where it waits; for an eviction those that go.

    ``evictor`` is the gang it goes for; ``levels`` the constraint's levels after (before, where it is lost).
    """

    podgroup: str
    queue: str
    effect: Effect
    gpus: float
    pods: int
    running: bool
    evictor: str = ""
    topology: str = ""
    levels: tuple[str, ...] = ()


class Move(msgspec.Struct, frozen=True):
    """A leaf queue whose GPU share changes, or whose standing does. Amounts in GPUs; None: there is no such queue."""

    queue: str
    held: float
    fair_before: float | None
    fair_after: float | None
    before: Standing | None
    after: Standing | None

    @property
    def crosses(self) -> bool:
        """Whether it moves between under, within and over its share."""
        return self.before is not self.after


class Impact(msgspec.Struct, frozen=True):
    """All effects, the worst and largest first; ``unchecked`` gangs were too many to try a restart of."""

    hits: tuple[Hit, ...] = ()
    moves: tuple[Move, ...] = ()
    total_before: float = 0.0
    total_after: float = 0.0
    unchecked: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes for anybody."""
        return not (self.hits or self.moves or self.unchecked)


def compare(before: Snapshot, after: Snapshot, config: SchedulerConfig | None = None) -> Impact:
    """What becomes of the gangs and queues of a shard when ``before`` turns into ``after``."""
    config = config or SchedulerConfig()
    comparison = _Comparison(before, after, config)
    hits = sorted(comparison.hits(), key=lambda hit: (list(Effect).index(hit.effect), -hit.gpus, hit.podgroup))
    shares = explain_shard(before, config), explain_shard(after, config)
    return Impact(
        hits=tuple(hits),
        moves=tuple(_moves(*shares)),
        total_before=shares[0].total.gpu,
        total_after=shares[1].total.gpu,
        unchecked=comparison.unchecked,
    )


class _Outcome(msgspec.Struct):
    """What some cycles bring: pods evicted with the gang they go for, gangs that get a place."""

    evicted: dict[str, str]
    started: set[str]


class _Comparison:
    """Both sides while they are compared."""

    def __init__(self, before: Snapshot, after: Snapshot, config: SchedulerConfig) -> None:
        self.before, self.after = before, after
        self.config = config
        self.groups = {group.key: group for group in before.podgroups}
        self.later = {group.key: group for group in after.podgroups}
        self.held, self.asked, self.counts, self.places = _amounts(before)
        self.unchecked = 0
        self.nodes_differ = before.nodes != after.nodes

    def hits(self) -> Iterator[Hit]:
        then, now = _play(self.after, self.config), _play(self.before, self.config)
        done = set()
        for hit in (*self._evictions(now, then), *self._lost(), *self._queues_gone()):
            done.add(hit.podgroup)
            yield hit
        yield from self._waiting(now, then, done)
        yield from self._restarts(done)
        yield from self._constraints()

    def _hit(self, key: str, effect: Effect, **more: object) -> Hit:
        running = self.held.get(key, 0.0) > 0 or key in self.places
        gpus = self.held.get(key, 0.0) if running else self.asked.get(key, 0.0)
        hit = Hit(key, self.groups[key].queue, effect, gpus, self.counts.get(key, 0), running)
        return msgspec.structs.replace(hit, **more)

    def _evictions(self, now: _Outcome, then: _Outcome) -> Iterator[Hit]:
        pods = {pod.key: pod for pod in self.before.pods}
        by_group: dict[str, list[str]] = defaultdict(list)
        for key in then.evicted.keys() - now.evicted.keys():
            if key in pods and pods[key].node:
                by_group[pods[key].podgroup].append(key)
        for group, keys in by_group.items():
            gpus = sum(pods[key].requests.gpu for key in keys)
            evictor = then.evicted[min(keys)]
            yield self._hit(group, Effect.RECLAIMED, gpus=gpus, pods=len(keys), evictor=evictor)

    def _lost(self) -> Iterator[Hit]:
        """Gangs with pods on nodes that are not there afterwards."""
        gone = {node.name for node in self.before.nodes} - {node.name for node in self.after.nodes}
        lost: dict[str, list[float]] = defaultdict(list)
        for pod in self.before.pods:
            if pod.node in gone and pod.podgroup in self.groups and pod.phase not in FINISHED:
                lost[pod.podgroup].append(pod.requests.gpu)
        for group, gpus in lost.items():
            yield self._hit(group, Effect.LOSES_NODES, gpus=sum(gpus), pods=len(gpus))

    def _queues_gone(self) -> Iterator[Hit]:
        there = {queue.name for queue in self.before.queues}
        left = {queue.name for queue in self.after.queues}
        for key, group in self.groups.items():
            if group.queue in there - left:
                yield self._hit(key, Effect.QUEUE_GONE)

    def _waiting(self, now: _Outcome, then: _Outcome, done: set[str]) -> Iterator[Hit]:
        """Gangs that wait: those that start only before, or only after."""
        waiting = [key for key in self.groups if key not in self.places and key not in done]
        for key in waiting:
            if key in now.started and key not in then.started:
                done.add(key)
                yield self._hit(key, Effect.STOPS_FITTING)
            elif key in then.started:
                done.add(key)
                if key not in now.started:
                    yield self._hit(key, Effect.STARTS)

    def _restarts(self, done: set[str]) -> Iterator[Hit]:
        """Gangs that the edit touches: could each be started anew, as it could before? For one that waits without
        a place in sight: could it be, were nobody else there?"""
        touched = [key for key in self.groups if key not in done and key in self.later and self._touches(key)]
        touched.sort(key=lambda key: (-self.held.get(key, 0.0), key))
        most = max(min(MOST_CHECKS, WORK // max(len(self.before.nodes), 1)), 1)
        self.unchecked = max(len(touched) - most, 0)
        for key in touched[:most]:
            others = key in self.places
            if starts_anew(self.after, key, self.config, others=others):
                continue
            if starts_anew(self.before, key, self.config, others=others):
                yield self._hit(key, Effect.STOPS_FITTING)

    def _touches(self, key: str) -> bool:
        """Whether anything that decides about the gang differs: queues up to the top, constraint, topology, nodes."""
        group, later = self.groups[key], self.later[key]
        if _chain(self.before.queues, group.queue) != _chain(self.after.queues, later.queue):
            return True
        names = {each.topology for each in (*constraints_of(group).values(), *constraints_of(later).values())}
        if constraints_of(group) != constraints_of(later) or _named(self.before, names) != _named(self.after, names):
            return True
        return self.nodes_differ

    def _constraints(self) -> Iterator[Hit]:
        for key, group in self.groups.items():
            old = constraints_of(group)
            new = constraints_of(self.later[key]) if key in self.later else old
            if old == new:
                continue
            effect = Effect.CHANGES_CONSTRAINT
            if not (old and new):
                effect = Effect.GAINS_CONSTRAINT if new else Effect.LOSES_CONSTRAINT
            shown = next(iter((new or old).values()))
            levels = tuple(level for level in (shown.required, shown.preferred) if level)
            yield self._hit(key, effect, topology=shown.topology, levels=levels)


def starts_anew(snapshot: Snapshot, key: str, config: SchedulerConfig, *, others: bool = True) -> bool:
    """Whether the gang, stopped and submitted again, would get a place at once or by taking somebody's; beside what
    runs (``others``), or on the shard as if nobody was there."""
    groups = {group.key: group for group in snapshot.podgroups}
    own = {pod.key for pod in snapshot.pods if pod.podgroup == key}
    running = {pod.podgroup for pod in snapshot.pods if pod.node} if others else set[str]()
    pods = tuple(
        msgspec.structs.replace(pod, node="", phase="Pending", gpu_groups=(), releasing=False)
        if pod.key in own
        else pod
        for pod in snapshot.pods
        if pod.key in own or (others and pod.node)
    )
    kept = tuple(
        msgspec.structs.replace(group, backed_off=False, last_eviction=None, stale_since=None)
        for name, group in groups.items()
        if name == key or name in running
    )
    result = run_cycle(msgspec.structs.replace(snapshot, pods=pods, podgroups=kept), config)
    return any(name in own for name in (*result.bound, *result.pipelined))


def _play(snapshot: Snapshot, config: SchedulerConfig) -> _Outcome:
    outcome = _Outcome({}, set())
    groups = {pod.key: pod.podgroup for pod in snapshot.pods}
    for _ in range(CYCLES if len(snapshot.nodes) <= LARGE else 1):
        result = run_cycle(snapshot, config)
        for eviction in result.evicted:
            outcome.evicted.setdefault(eviction.pod, eviction.evictor)
        outcome.started |= {groups.get(key, "") for key in (*result.bound, *result.pipelined)}
        if not (result.bound or result.evicted):
            break
        snapshot = after_cycle(snapshot, result)
    return outcome


Amounts = Mapping[str, float]


def _amounts(snapshot: Snapshot) -> tuple[Amounts, Amounts, Mapping[str, int], set[str]]:
    """Per gang: GPUs held, GPUs asked, pods; and the gangs that have a place."""
    held: dict[str, float] = defaultdict(float)
    asked: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    places: set[str] = set()
    for pod in snapshot.pods:
        if not pod.podgroup or pod.phase in FINISHED:
            continue
        counts[pod.podgroup] += 1
        gpus = pod.requests.gpu or pod.gpu_fraction * pod.fraction_devices
        asked[pod.podgroup] += gpus
        if pod.node:
            held[pod.podgroup] += gpus
            places.add(pod.podgroup)
    return held, asked, counts, places


def _chain(queues: Sequence[Queue], name: str) -> list[Queue]:
    by_name = {queue.name: queue for queue in queues}
    chain: list[Queue] = []
    while name in by_name and len(chain) < len(by_name):
        chain.append(by_name[name])
        name = by_name[name].parent
    return chain


def _named(snapshot: Snapshot, names: set[str]) -> list[object]:
    return [topology for topology in snapshot.topologies if topology.name in names]


def _moves(before: ShardShares, after: ShardShares) -> Iterator[Move]:
    """Leaf queues whose share or standing changes, those that cross first."""
    old, new = before.holdings["gpu"], after.holdings["gpu"]
    found = []
    for queue in sorted(before.leaves | after.leaves):
        then, now = old.get(queue), new.get(queue)
        fair = (then.fair if then else None, now.fair if now else None)
        held = (then or now).held  # type: ignore[union-attr]  # one of them has the queue
        move = Move(queue, held, *fair, _standing(then), _standing(now))
        if move.crosses or abs((fair[0] or 0.0) - (fair[1] or 0.0)) > TINY:
            found.append(move)
    yield from sorted(found, key=lambda move: (not move.crosses, move.queue))


def _standing(holding: Holding | None) -> Standing | None:
    if holding is None:
        return None
    if holding.borrowed > TINY:
        return Standing.OVER
    return Standing.UNDER if holding.owed > TINY else Standing.WITHIN
