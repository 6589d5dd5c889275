"""KAI's objects as Kubernetes holds them → the engine's structs. Pure.

A duration or a type that Go cannot read raises UnreadableObject: it blinds every typed reader of the kind, so the
real scheduler stops (kai-scheduler.md §0.5 no. 34).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from scheduling.durations import parse_duration, parse_long_duration
from scheduling.shards import pool_of_labels
from scheduling.structs import (
    UNLIMITED,
    Level,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    SchedulerConfig,
    SubGroup,
    Toleration,
    Topology,
    TopologyConstraint,
)

Object = Mapping[str, Any]
More = ParamSpec("More")
Read = TypeVar("Read")
Setting = TypeVar("Setting")

LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
MEGABYTE = 1_000_000.0
DEFAULT_PRIORITY = 50
NON_PREEMPTIBLE_FROM = 100
STALENESS_GRACE = 60.0


class UnreadableObject(ValueError):
    """An object that KAI's typed clients cannot decode."""


def _typed(read: Callable[Concatenate[Object, More], Read]) -> Callable[Concatenate[Object, More], Read]:
    """Raises UnreadableObject where a field is of another type than the struct's: a CRD of another version lets such
    objects in."""

    @wraps(read)
    def reading(obj: Object, /, *args: More.args, **more: More.kwargs) -> Read:
        try:
            found = read(obj, *args, **more)
            msgspec.convert(msgspec.to_builtins(found), type(found))
        except UnreadableObject:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
            raise UnreadableObject(f"{obj.get('kind', 'object')} {obj['metadata']['name']}: {error}") from error
        return found

    return reading


def pool_of(obj: Object) -> str:
    """The node pool whose shard sees an object; "" is the default pool. See `pool_of_labels`."""
    return pool_of_labels(obj["metadata"].get("labels") or {})


def is_ready(conditions: Iterable[Object]) -> bool:
    """Whether a node's conditions let KAI use it: Ready is True, no pressure is anything but False (§4.1)."""
    statuses = {condition.get("type"): condition.get("status") for condition in conditions}
    return statuses.get("Ready") == "True" and all(statuses.get(name, "False") == "False" for name in PRESSURES)


def shard_config(shard: Object | None, staleness_grace: float = STALENESS_GRACE) -> SchedulerConfig:
    """Engine settings of a SchedulingShard (kai-scheduler.md §1.5); KAI's defaults without one. Raises
    UnreadableObject."""
    if shard is None:
        return SchedulerConfig(staleness_grace=staleness_grace)
    return _read_config(shard, staleness_grace)


@_typed
def _read_config(shard: Object, staleness_grace: float) -> SchedulerConfig:
    spec = shard.get("spec") or {}
    placement, runtime, args, actions, depth = (
        _mapping(spec, key) for key in ("placementStrategy", "minRuntime", "args", "actions", "queueDepthPerAction")
    )
    given = 1.0 if spec.get("kValue") is None else _float(spec["kValue"])
    proportion = _arguments(spec, "proportion") or {"kValue": str(given)}
    minimum = _arguments(spec, "minruntime") or {
        "defaultPreemptMinRuntime": runtime.get("preemptMinRuntime"),
        "defaultReclaimMinRuntime": runtime.get("reclaimMinRuntime"),
    }
    return SchedulerConfig(
        k_value=max(_read(float, proportion.get("kValue"), 1.0), 0.0),
        gpu_placement=placement.get("gpu") or "binpack",
        cpu_placement=placement.get("cpu") or "binpack",
        max_consolidation_preemptees=_read(int, args.get("max-consolidation-preemptees"), 16),
        staleness_grace=_read(parse_duration, args.get("default-staleness-grace-period"), staleness_grace),
        preempt_min_runtime=_runtime(minimum.get("defaultPreemptMinRuntime")),
        reclaim_min_runtime=_runtime(minimum.get("defaultReclaimMinRuntime")),
        saturation_multiplier=max(_read(float, proportion.get("relcaimerSaturationMultiplier"), 1.0), 1.0),
        consolidating_reclaim=args.get("allow-consolidating-reclaim") != "false",
        off=tuple(sorted(name for name in actions if _mapping(actions, name).get("enabled") is False)),
        queue_depth={name: int(most) for name, most in depth.items() if most > 0},
    )


def _arguments(spec: Object, plugin: str) -> Object:
    """Arguments of a plugin; where there are any they stand for all that the shard says of it elsewhere."""
    return _mapping(_mapping(_mapping(spec, "plugins"), plugin), "arguments")


def _read(read: Callable[[str], Setting], text: str | None, default: Setting) -> Setting:
    """A setting written as a text; the default where there is none, or one that KAI cannot read."""
    try:
        return default if text is None else read(text)
    except ValueError:
        return default


def _mapping(spec: Object, key: str) -> Object:
    """An object within a spec; absent and null alike are empty. Raises TypeError where it is anything else."""
    found = spec.get(key)
    if not isinstance(found, dict | None):
        raise TypeError(f"{key} is no object")
    return found or {}


def merge_equal_names(groups: dict[str, PodGroup], pods: Sequence[Pod]) -> list[Pod]:
    """KAI indexes PodGroups by bare name: of two in different namespaces one stays, with the pods of both
    (golden/SURPRISES.md §1 no. 6). Removes the later one from `groups`."""
    first: dict[str, str] = {}
    moved: dict[str, str] = {}
    for key in sorted(groups, key=lambda key: (groups[key].created, key)):
        kept = first.setdefault(groups[key].name, key)
        if kept != key:
            moved[key] = kept
    for key in moved:
        del groups[key]
    if not moved:
        return list(pods)
    return [
        msgspec.structs.replace(pod, podgroup=moved[pod.podgroup]) if pod.podgroup in moved else pod for pod in pods
    ]


@_typed
def read_topology(topology: Object) -> Topology:
    """Raises UnreadableObject."""
    given = (topology.get("spec") or {}).get("levels") or ()
    levels = tuple(Level(level["nodeLabel"], level.get("alias", "")) for level in given)
    return Topology(topology["metadata"]["name"], levels)


@_typed
def read_queue(queue: Object) -> Queue:
    """Queue objects count CPU in millicores and memory in 10^6 bytes. Raises UnreadableObject."""
    spec = queue.get("spec") or {}
    resources = spec.get("resources") or {}
    return Queue(
        name=queue["metadata"]["name"],
        parent=spec.get("parentQueue") or "",
        uid=queue["metadata"].get("uid", ""),
        priority=100 if spec.get("priority") is None else spec["priority"],
        created=_created(queue),
        gpu=_queue_resource(resources.get("gpu"), 1.0),
        cpu=_queue_resource(resources.get("cpu"), 1.0),
        memory=_queue_resource(resources.get("memory"), MEGABYTE),
        preempt_min_runtime=_duration(queue, spec.get("preemptMinRuntime")),
        reclaim_min_runtime=_duration(queue, spec.get("reclaimMinRuntime")),
        pool=pool_of(queue),
    )


@_typed
def read_pod_group(group: Object, priorities: Mapping[str, int]) -> PodGroup:
    """`priorities`: value per PriorityClass, "" for the global default. Raises UnreadableObject."""
    spec, metadata = group.get("spec") or {}, group["metadata"]
    annotations = metadata.get("annotations") or {}
    fallback = priorities.get("", DEFAULT_PRIORITY)
    priority = priorities.get(spec.get("priorityClassName") or "", fallback)
    preemptibility = spec.get("preemptibility")
    preemptible = priority < NON_PREEMPTIBLE_FROM if not preemptibility else preemptibility == "preemptible"
    grace = _duration(group, spec.get("stalenessGracePeriod"))
    return PodGroup(
        name=metadata["name"],
        namespace=metadata["namespace"],
        queue=spec.get("queue") or "",
        uid=metadata.get("uid", ""),
        created=_created(group),
        min_member=spec.get("minMember"),
        min_subgroup=spec.get("minSubGroup"),
        priority=priority,
        preemptible=preemptible,
        topology=_constraint(spec.get("topologyConstraint")),
        subgroups=tuple(_sub_group(entry) for entry in spec.get("subGroups") or ()),
        pool=pool_of(group),
        mark_unschedulable=spec.get("markUnschedulable", True) is not False,
        scheduling_backoff=spec.get("schedulingBackoff", -1),
        preemption_delay=_duration(group, spec.get("preemptionDelay")) or 0.0,
        staleness_grace=grace,
        last_start=moment(annotations.get(LAST_START)),
        last_eviction=moment(annotations.get(LAST_EVICTION)),
        stale_since=moment(annotations.get(STALE_SINCE)),
        backed_off=_is_backed_off(group),
    )


def read_priorities(classes: Iterable[Object]) -> dict[str, int]:
    """Value per PriorityClass; "" for the global default."""
    values: dict[str, int] = {}
    for found in classes:
        values[found["metadata"]["name"]] = int(found.get("value") or 0)
        if found.get("globalDefault"):
            values[""] = int(found.get("value") or 0)
    return values


def read_toleration(entry: Object) -> Toleration:
    """One entry of a pod's tolerations."""
    return Toleration(
        entry.get("key") or "",
        entry.get("operator") or "Equal",
        entry.get("value") or "",
        entry.get("effect") or "",
    )


def fraction_of(text: str | None) -> float:
    """A GPU fraction between 0 and 1; 0.0 for none and for what is none."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if 0 < value < 1 else 0.0


def whole(text: str) -> int:
    """A whole number; 0 for what is none."""
    try:
        return int(text)
    except ValueError:
        return 0


@lru_cache(maxsize=65536)
def moment(text: str | None) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None for none and for what is none."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _is_backed_off(group: Object) -> bool:
    """Whether its last scheduling condition is one of the pool that it is in."""
    conditions = (group.get("status") or {}).get("schedulingConditions") or ()
    last = max(conditions, key=lambda entry: whole(str(entry.get("transitionID", "0"))), default=None)
    return last is not None and last.get("nodePool") == (pool_of(group) or "default")


def _queue_resource(resource: Object | None, unit: float) -> QueueResource:
    given = resource or {}
    return QueueResource(
        quota=_scaled(given.get("quota") or 0, unit),
        limit=_scaled(given.get("limit") or 0, unit),
        weight=float(given.get("overQuotaWeight") or 0),
    )


def _scaled(value: float, unit: float) -> float:
    """-1 is "unlimited" in every unit; other negative memory counts as -1 too (kai-scheduler.md §1.2)."""
    if value == UNLIMITED or (value < 0 and unit == MEGABYTE):
        return UNLIMITED
    return float(value) * unit


def _float(value: Any) -> float:
    """A number of JSON: Go reads none from a text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _sub_group(entry: Object) -> SubGroup:
    return SubGroup(
        name=entry["name"],
        min_member=entry.get("minMember"),
        min_subgroup=entry.get("minSubGroup"),
        parent=entry.get("parent") or "",
        topology=_constraint(entry.get("topologyConstraint")),
    )


def _constraint(constraint: Object | None) -> TopologyConstraint:
    given = constraint or {}
    return TopologyConstraint(
        given.get("topology") or "",
        given.get("requiredTopologyLevel") or "",
        given.get("preferredTopologyLevel") or "",
    )


def _created(obj: Object) -> float:
    return moment(obj["metadata"].get("creationTimestamp")) or 0.0


def _duration(obj: Object, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UnreadableObject(f"{obj.get('kind', 'object')} {obj['metadata']['name']}: {error}") from error


def _runtime(text: str | None) -> float:
    """A minimum runtime of a shard, in which days and weeks may stand; 0 for none, a negative one and an unreadable."""
    return max(_read(parse_long_duration, text or None, 0.0), 0.0)
