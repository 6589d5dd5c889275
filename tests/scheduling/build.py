"""Builders for small clusters: names and GPUs, everything else plentiful."""

from scheduling.structs import (
    UNLIMITED,
    UNLIMITED_RESOURCE,
    Level,
    Node,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    Resources,
    Snapshot,
    SubGroup,
    Topology,
    TopologyConstraint,
)

TOPOLOGY = Topology("topo", (Level("zone"), Level("rack"), Level("kubernetes.io/hostname")))
RACKS = Topology("topo", (Level("zone"), Level("rack")))


def node(name: str, gpu: float, place: str = "", **more: object) -> Node:
    """A node; ``place`` is ``zone.rack``."""
    labels = {"kubernetes.io/hostname": name}
    if place:
        zone, rack = place.split(".")
        labels |= {"zone": zone, "rack": rack}
    labels |= more.pop("labels", {})
    return Node(name, Resources(gpu, 64_000, 256 * 2**30), labels=labels, **more)


def queue(name: str, parent: str = "", **gpu: float) -> Queue:
    """A queue with unlimited CPU and memory; GPU quota, limit and weight as given."""
    priority, created = int(gpu.pop("priority", 100)), gpu.pop("created", 0.0)
    resource = QueueResource(gpu.pop("quota", 0.0), gpu.pop("limit", UNLIMITED), gpu.pop("weight", 1.0))
    return Queue(
        name,
        parent,
        gpu=resource,
        cpu=UNLIMITED_RESOURCE,
        memory=UNLIMITED_RESOURCE,
        priority=priority,
        created=created,
        **gpu,
    )


def within(required: str = "", preferred: str = "", topology: str = "topo") -> TopologyConstraint:
    return TopologyConstraint(topology, required, preferred)


class Cluster:
    """Collects a snapshot."""

    def __init__(self, *nodes: Node, queues: tuple[Queue, ...] = (), topologies: tuple[Topology, ...] = ()) -> None:
        self.nodes = nodes
        self.queues = queues or (queue("q"),)
        self.topologies = topologies or (TOPOLOGY,)
        self.groups: list[PodGroup] = []
        self.pods: list[Pod] = []

    def gang(
        self,
        name: str,
        *gpus: float,
        on: tuple[str, ...] = (),
        queue: str = "q",
        subgroups: tuple[tuple[SubGroup, int], ...] = (),
        pod: dict[str, object] | None = None,
        **more: object,
    ) -> "Cluster":
        """A gang of pods with these GPUs; with ``on`` they run on these nodes. All of them are the minimum.

        ``subgroups`` gives each subgroup and how many of the pods, in order, are its own.
        """
        more.setdefault("min_member", len(gpus))
        names = [sub.name for sub, count in subgroups for _ in range(count)] or [""] * len(gpus)
        self.groups.append(
            PodGroup(name, queue, created=float(len(self.groups)), subgroups=tuple(s for s, _ in subgroups), **more)
        )
        for index, gpu in enumerate(gpus):
            self.pods.append(
                Pod(
                    f"{name}-{index}",
                    podgroup=f"default/{name}",
                    subgroup=names[index],
                    requests=Resources(gpu),
                    node=on[index] if on else "",
                    phase="Running" if on else "Pending",
                    uid=f"{len(self.groups):03d}-{index:04d}",
                    **(pod or {}),
                )
            )
        return self

    def snapshot(self, **more: object) -> Snapshot:
        return Snapshot(self.nodes, self.queues, tuple(self.groups), tuple(self.pods), self.topologies, **more)


def nodes_used(bound: dict[str, str]) -> dict[str, int]:
    """Pods per node."""
    counts: dict[str, int] = {}
    for name in bound.values():
        counts[name] = counts.get(name, 0) + 1
    return counts
