"""What the pods and pod groups of a graph say of its progress: roles, phase, placement. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from scheduling.structs import FINISHED
from workloads.graph import Graph
from workloads.verdicts import Reason

# Container states that do not pass by waiting for the scheduler; KAI has done its part.
CONTAINER_FAULTS = (
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "OOMKilled",
    "Error",
)


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is needed of one pod. `node` is empty until it is bound; `leaving`: its deletion was asked for."""

    name: str
    component: str
    phase: str
    ready: bool
    node: str
    gpus: Decimal
    gated: bool = False
    reason: str = ""
    message: str = ""
    leaving: bool = False

    @property
    def holds(self) -> bool:
        """Whether it holds its GPUs: bound and not finished."""
        return self.node != "" and self.phase not in FINISHED


@dataclass(frozen=True, slots=True)
class Role:
    """Progress of one component, in pods."""

    component: str
    type: str
    gpus_each: Decimal
    desired: int
    placed: int
    ready: int

    def as_dict(self) -> dict[str, Any]:
        """As rows hold it."""
        return {
            "component": self.component,
            "type": self.type,
            "gpusEach": f"{self.gpus_each:f}",
            "desired": self.desired,
            "placed": self.placed,
            "ready": self.ready,
        }


@dataclass(frozen=True, slots=True)
class Placement:
    """Where it stands. `state`: kept, loosened, broken, waits, or empty where nothing was asked.

    `level` is the narrowest level all pods share (empty: none); `domains` are the values at the level that was asked
    for; `lost` are nodes that pods stood on and that are gone; `outside` lack a level's label.
    """

    state: str = ""
    level: str = ""
    domains: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As rows hold it."""
        return {
            "state": self.state,
            "level": self.level,
            "domains": list(self.domains),
            "lost": list(self.lost),
            "outside": list(self.outside),
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """The placement that was asked for. `automatic`: nobody said it, the pool's narrowest level is preferred."""

    levels: tuple[str, ...] = ()
    required: str = ""
    preferred: str = ""
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """All of it. `gpus_held` counts bound pods."""

    phase: str
    roles: tuple[Role, ...]
    gpus_held: Decimal
    placement: Placement
    reason: Reason | None = field(default=None)


def roles_of(graph: Graph, pods: Iterable[PodFacts]) -> tuple[Role, ...]:
    """Progress per component; the operator may write its name in lower case."""
    by_component: dict[str, list[PodFacts]] = {}
    for pod in pods:
        if not pod.leaving:
            by_component.setdefault(pod.component.lower(), []).append(pod)
    roles = []
    for component in graph.components:
        own = by_component.get(component.name.lower(), [])
        placed = sum(pod.holds for pod in own)
        ready = sum(pod.ready and pod.holds for pod in own)
        roles.append(Role(component.name, component.role, component.gpus_each, component.pods, placed, ready))
    return tuple(roles)


def held_gpus(pods: Iterable[PodFacts]) -> Decimal:
    """GPUs of the pods that are bound, those that are leaving too: they hold them until they are gone."""
    return sum((pod.gpus for pod in pods if pod.holds), Decimal(0))


def phase_of(roles: Sequence[Role], *, pods: int, started: bool, failed: bool) -> str:
    """Run:ai's phase. `pods`: how many exist; `started`: it was Running before; `failed`: the operator says so."""
    desired = sum(role.desired for role in roles)
    placed = sum(role.placed for role in roles)
    ready = sum(role.ready for role in roles)
    if ready >= desired:
        return "Running"
    if failed and placed == 0:
        return "Failed"
    if pods == 0:
        return "Creating"
    if started and placed:
        return "Degraded"
    return "Initializing" if placed >= desired else "Pending"


def placement_of(asked: Asked, pods: Iterable[PodFacts], labels: Mapping[str, Mapping[str, str]]) -> Placement:
    """Where bound pods stand in the topology. `labels` are those of the observed nodes by name."""
    names = sorted({pod.node for pod in pods if pod.holds and not pod.leaving})
    if not names:
        return Placement("waits" if (asked.required or asked.preferred) and not asked.automatic else "")
    if not asked.levels:
        return Placement()
    lost = tuple(name for name in names if name not in labels)
    paths = {name: _path(labels[name], asked.levels) for name in names if name in labels}
    outside = tuple(name for name, path in paths.items() if len(path) < len(asked.levels))
    shared = _shared_depth(list(paths.values())) if paths and not outside else 0
    level = asked.levels[shared - 1] if shared else ""
    wanted = asked.required or asked.preferred
    at = (asked.levels.index(wanted) + 1) if wanted in asked.levels else shared
    domains = tuple(sorted({path[at - 1] for path in paths.values() if 0 < at <= len(path)}))
    return Placement(_state(asked, shared, bool(lost)), level, domains, lost, outside)


def _path(labels: Mapping[str, str], levels: Sequence[str]) -> tuple[str, ...]:
    """The values from the top, as far as the node has them: a domain is its whole path."""
    path: list[str] = []
    for key in levels:
        if not labels.get(key):
            break
        path.append(labels[key])
    return tuple(path)


def _shared_depth(paths: Sequence[tuple[str, ...]]) -> int:
    depth = 0
    for values in zip(*paths, strict=False):
        if len(set(values)) > 1:
            break
        depth += 1
    return depth


def _state(asked: Asked, shared: int, lost: bool) -> str:
    def kept(level: str) -> bool:
        return not level or (level in asked.levels and shared > asked.levels.index(level))

    if lost and (asked.required or not asked.automatic):
        return "broken"
    if asked.required and not kept(asked.required):
        return "broken"
    if asked.preferred and not kept(asked.preferred):
        return "" if asked.automatic else "loosened"
    return "kept" if asked.required or asked.preferred else ""
