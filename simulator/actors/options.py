"""How the actors behave: delays, who makes the PodGroups, which actors run. The defaults suit a small fleet."""

from dataclasses import dataclass, field

from scheduling.durations import parse_duration

PLATFORM = frozenset({"dynamo", "grove", "podgrouper", "scheduler", "queues", "kubelet", "nodes", "exporters"})
CONTROLLER_MANAGER = frozenset({"components", "endpoints", "event-expiry"})
"""What kube-controller-manager and kube-apiserver do where they are real."""
ALL_ACTORS = PLATFORM | CONTROLLER_MANAGER


@dataclass(frozen=True, slots=True)
class ActorOptions:
    """Every delay is in seconds."""

    actors: frozenset[str] = ALL_ACTORS
    grove_kai_backend: bool = False
    """Grove makes the PodGroups itself instead of KAI's podgrouper."""
    kai_enabled: bool = True
    """The Dynamo operator's gate `global.kai-scheduler`: queue and scheduler name are injected."""
    container_start_s: float = 0.3
    readiness_s: float = 0.4
    termination_s: float = 0.3
    image_retry_s: float = 2.0
    crash_scale: float = 1.0
    """Factor on the kubelet's back-off of 10, 20, 40 … 300 s before a crashed container is started again."""
    unreachable_eviction_s: float = 5.0
    """How long a pod stays bound to a lost node (300 s in a real cluster)."""
    schedule_period_s: float = 0.2
    retry_period_s: float = 5.0
    """A pending gang is tried again after this time even when nothing changed (fairness over time)."""
    resync_s: float = 60.0
    """Every kind is listed afresh after this time, in case a watch lost something."""
    seed: int = 1
    component_namespaces: tuple[str, ...] = ("kai-scheduler", "grove-system", "dynamo-system", "gpu-operator")
    shard_arguments: dict[str, str] = field(default_factory=dict)

    def staleness_grace_s(self) -> float:
        """Scheduler flag `--default-staleness-grace-period`; negative means never."""
        return parse_duration(self.shard_arguments.get("default-staleness-grace-period", "60s"))
