"""A waiting pod group in its surroundings, and what would become of it: the ground on which a diagnosis stands.

A scene is never changed: each change is another scene, and each answers whether the pod group would run in it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import finalize

import msgspec

from scheduling.actions import Actions
from scheduling.gangs import tasks_to_place
from scheduling.placement import Placer
from scheduling.session import Session, heeded
from scheduling.shards import POOL_LABEL, of_pool
from scheduling.state import Job, Status, Task
from scheduling.structs import FINISHED, Node, Pod, PodGroup, Queue, SchedulerConfig, Snapshot, TopologyConstraint
from scheduling.undoing import Amounts, can_be_undone, collector_paused, undo


@dataclass(frozen=True)
class Outcome:
    """What one cycle does for the pod group: the node of each pod that it places (by key), and whose pods go.

    ``evicted`` holds pod groups that lose pods; ``moved`` those whose pods only change their node. ``waits``: some of
    its pods wait until the place is empty.
    """

    nodes: Mapping[str, str]
    evicted: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    waits: bool = False


@dataclass(frozen=True)
class Scene:
    """A snapshot (of one shard or of the whole cluster), the pod group that is asked about, and what else is known.

    ``wanted_pool``, ``wanted_queue`` and ``wanted_placement`` are what it was meant to have (None: as it says itself);
    ``shards`` the pools for which a scheduler runs (None: not known); ``unhealthy`` GPU devices by node that exist but
    cannot be allocated; ``scaled_below`` the subgroups that are meant to have fewer pods than they must start with,
    each with a pod as it would have.
    """

    snapshot: Snapshot
    key: str
    config: SchedulerConfig = field(default_factory=SchedulerConfig)
    wanted_pool: str | None = None
    wanted_queue: str | None = None
    wanted_placement: TopologyConstraint | None = None
    shards: frozenset[str] | None = None
    unhealthy: Mapping[str, float] = field(default_factory=dict)
    effort: int = 24
    """So many ends of others, and as many remedies, are tried at most."""
    scaled_below: Mapping[str, Pod] = field(default_factory=dict)
    origin: "Scene | None" = field(default=None, compare=False, repr=False)
    """The scene that this one is a change of; the sessions of both have in common what does not differ."""

    @cached_property
    def group(self) -> PodGroup:
        """The pod group. Raises KeyError when the snapshot has none of this key."""
        namespace, _, name = self.key.partition("/")
        for group in self.snapshot.podgroups:
            if group.name == name and group.namespace == namespace:
                return group
        raise KeyError(self.key)

    @cached_property
    def shard(self) -> Snapshot:
        """What the scheduler of the group's pool sees."""
        return of_pool(self.snapshot, self.group.pool)

    @cached_property
    def session(self) -> Session:
        """The shard at the start of a cycle, to read; the group itself does not count as backed off."""
        with collector_paused():
            session = self._session()
        finalize(self, session.dissolve).atexit = False
        return session

    def _session(self) -> Session:
        own = msgspec.structs.replace(self.group, backed_off=False)
        groups = tuple(own if group is self.group else group for group in self.shard.podgroups)
        like = self.origin.session if self.origin is not None else None
        return Session(msgspec.structs.replace(self.shard, podgroups=groups), self.config, like=like)

    @cached_property
    def placer(self) -> Placer:
        """Knows the topology trees of the session."""
        return Placer(self.session)

    @cached_property
    def job(self) -> Job:
        """The group in the session."""
        return self.session.jobs[self.key]

    @cached_property
    def tasks(self) -> list[Task]:
        """The pods of the next attempt."""
        return tasks_to_place(self.job, real=True)

    @cached_property
    def runs(self) -> bool:
        """Whether one cycle places it."""
        return self.outcome is not None

    @cached_property
    def outcome(self) -> Outcome | None:
        """What one cycle does for it: None when its minimum (where that runs: its next pod) stays without a place."""
        if self.shards is not None and self.group.pool not in self.shards:
            return None
        if not heeded(self.group) or hanging(self):
            return None
        with collector_paused():
            if not can_be_undone(self.session):
                return self._decided(self._session())
            holds = Amounts(self.session)
            outcome = self._decided(self.session)
            undo(self.session, self.session.jobs.values(), holds)
        return outcome

    def _decided(self, session: Session) -> Outcome | None:
        """What a cycle on this session, which it changes, does for the group."""
        actions = Actions(self.shard, self.config, session=session)
        job = session.jobs[self.key]
        satisfied, active = job.root.satisfied, job.active
        actions.act()
        if not (job.active > active if satisfied else job.root.satisfied):
            return None
        own = {task.key for task in job.tasks()}
        nodes = {key: name for key, name in {**actions.pipelined, **actions.bound}.items() if key in own}
        evicted = actions.evicted.values()
        gone = {each.podgroup for each in evicted if not each.moved_to} - {self.key}
        moved = {each.podgroup for each in evicted if each.moved_to} - gone - {self.key}
        waits = any(task.status is Status.PIPELINED for task in job.tasks())
        return Outcome(nodes, tuple(sorted(gone)), tuple(sorted(moved)), waits)

    def with_snapshot(self, **changes: Any) -> "Scene":
        """The scene with parts of the snapshot replaced."""
        snapshot = msgspec.structs.replace(self.snapshot, **changes)
        return replace(self, snapshot=snapshot, origin=self.origin or self)

    def with_config(self, config: SchedulerConfig) -> "Scene":
        """The scene under other settings of the scheduler."""
        return replace(self, config=config, origin=self.origin or self)

    def with_unhealthy(self, unhealthy: Mapping[str, float]) -> "Scene":
        """The scene with other devices that cannot be allocated."""
        return replace(self, unhealthy=unhealthy)

    def with_group(self, **changes: Any) -> "Scene":
        """The scene with the group changed."""
        changed = msgspec.structs.replace(self.group, **changes)
        groups = tuple(changed if group is self.group else group for group in self.snapshot.podgroups)
        return self.with_snapshot(podgroups=groups)

    def with_own_pods(self, change: Callable[[Pod], Pod]) -> "Scene":
        """The scene with the group's waiting pods changed."""
        pods = tuple(change(pod) if pod.podgroup == self.key and waiting(pod) else pod for pod in self.snapshot.pods)
        return self.with_snapshot(pods=pods)

    def with_nodes(self, names: Iterable[str], change: Callable[[Node], Node]) -> "Scene":
        """The scene with these nodes changed."""
        chosen = set(names)
        nodes = tuple(change(node) if node.name in chosen else node for node in self.snapshot.nodes)
        return self.with_snapshot(nodes=nodes)

    def with_queue(self, name: str, **changes: Any) -> "Scene":
        """The scene with a queue changed."""
        queues = tuple(
            msgspec.structs.replace(queue, **changes) if queue.name == name else queue for queue in self.snapshot.queues
        )
        return self.with_snapshot(queues=queues)

    def with_new_queue(self, queue: Queue) -> "Scene":
        """The scene with one queue more."""
        return self.with_snapshot(queues=(*self.snapshot.queues, queue))

    def without(self, groups: Iterable[str]) -> "Scene":
        """The scene after these pod groups (or pods that have none) have ended."""
        gone = set(groups)
        pods = tuple(pod for pod in self.snapshot.pods if (pod.podgroup or pod.key) not in gone)
        names = {tuple(key.split("/", 1)) for key in gone}
        kept = tuple(group for group in self.snapshot.podgroups if (group.namespace, group.name) not in names)
        return self.with_snapshot(pods=pods, podgroups=kept)

    def pool_labels(self) -> dict[str, str]:
        """The labels by which a node belongs to the group's pool."""
        return {POOL_LABEL: self.group.pool} if self.group.pool else {}


def waiting(pod: Pod) -> bool:
    """Without a node, and not finished."""
    return not pod.node and pod.phase not in FINISHED


def hanging(scene: Scene) -> tuple[str, ...]:
    """Queues in a circle of parents in which a pod waits: the real scheduler's cycle never ends then."""
    cyclic = set(scene.session.queues.cyclic)
    if not cyclic:
        return ()
    jobs = scene.session.jobs.values()
    return tuple(sorted(cyclic)) if any(job.pending and job.queue in cyclic for job in jobs) else ()
