"""KAI's words: reason codes and texts of conditions, events and evictions.

From ``unschedule_info``, ``common_info`` and the status updater of KAI v0.17; checked against recordings.
"""

from collections import Counter
from collections.abc import Sequence

from scheduling.moments import utc_moment
from scheduling.queues import QueueState
from scheduling.resources import CPU, GPU, MEMORY, PODS, Triple, describe, humanize, plain_number
from scheduling.state import DEFAULT_PODSET, FitError, Job, PodSet, Task, TaskErrors
from scheduling.structs import Condition, Reason

POD_ERRORS = "PodSchedulingErrors"
QUEUE_MISSING = "QueueDoesNotExist"
DELAYED = "PreemptionDelayNotElapsed"
WORKLOAD = "Not enough resources for the workload"
DEFAULT_POD = "Unable to schedule pod"
DEFAULT_GROUP = "Unable to schedule podgroup"
NOT_FOUND = "no nodes with enough resources were found"

_LIMIT_NAMES = {GPU: "GPUs", CPU: "CPU cores", MEMORY: "memory"}
_LIMIT_UNITS = {GPU: "GPUs", CPU: "cores", MEMORY: "GB"}
_QUOTA_NAMES = {GPU: "GPUs", CPU: "CPU cores", MEMORY: "GB memory"}
_DOMAIN_NAMES = {GPU: "GPUs", CPU: "CPU cores", MEMORY: "memory", PODS: "pods"}


def over_limit(queue: QueueState, index: int, requested: float) -> str:
    """A queue at its limit."""
    unit = _LIMIT_UNITS[index]
    limit, used, asked = (humanize(value, index) for value in (queue.limit[index], queue.allocated[index], requested))
    return (
        f"{queue.name} quota has reached the allowable limit of {_LIMIT_NAMES[index]}. Limit is {limit} {unit}, "
        f"currently {used} {unit} allocated and workload requested {asked} {unit}"
    )


def over_quota(queue: QueueState, index: int, request: Triple) -> str:
    """A non-preemptible workload over the quota of a queue."""
    unit = _LIMIT_UNITS[index]
    asked = plain_number(request[GPU]) if index == GPU else humanize(request[index], index)
    quota, used = humanize(queue.deserved[index], index), humanize(queue.non_preemptible[index], index)
    return (
        f"Non-preemptible workload is over quota. Workload requested {asked} {_QUOTA_NAMES[index]}, "
        f"but {queue.name} quota is {quota} {unit}, while {used} {unit} are already allocated for "
        "non-preemptible pods. Use a preemptible workload to go over quota."
    )


def queue_missing(name: str) -> FitError:
    """The queue does not exist, for this shard."""
    return FitError(QUEUE_MISSING, [f"Queue '{name}' does not exist"])


def topology_missing(name: str) -> FitError:
    """The Topology object does not exist."""
    return FitError(POD_ERRORS, [f"Requested topology {name} does not exist"])


def topology_unsatisfied(job: Job, subgroup: str, wanted: tuple[str, str], suffix: str) -> FitError:
    """``wanted`` is topology and required level; the level is empty when only a preference was given."""
    part = f", subgroup {subgroup}" if subgroup and subgroup != DEFAULT_PODSET else ""
    end = f": {suffix}" if suffix else ""
    text = f"topology {wanted[0]}, requirement {wanted[1]} couldn't be satisfied for job <{job.key}>{part}{end}"
    return FitError(POD_ERRORS, [text])


def domain_full(domain: str, room: int, count: int) -> FitError:
    """A domain takes fewer pods than needed."""
    return FitError(WORKLOAD, [f"node-group {domain} can allocate only {room} of {count} required pods"])


def domain_short(indexes: Sequence[int]) -> FitError:
    """A domain lacks resources, counted as sums."""
    names = [f"node-group(s) didn't have enough resources: {_DOMAIN_NAMES[index]}" for index in indexes]
    return FitError(WORKLOAD, names)


def task_error(errors: TaskErrors | None) -> str:
    """Why one pod found no node."""
    if errors is None:
        return DEFAULT_POD
    base = errors.text or NOT_FOUND
    if not errors.counts:
        return base
    parts = sorted(f"{count} {reason}" for reason, count in errors.counts.items())
    return f"{base}: " + ". \n".join(parts) + "."


def unmet_conditions(task: Task, text: str) -> TaskErrors:
    """A pod that no node of the pool could ever hold."""
    errors = TaskErrors()
    errors.text = f"Scheduling conditions were not met for pod {task.key}:\nMaxNodePoolResources: {text}.\n"
    return errors


def too_large(text: str) -> TaskErrors:
    """The same, found before the pod was tried anywhere."""
    errors = TaskErrors()
    errors.text = text
    return errors


def add_counts(job: Job, task: Task, errors: TaskErrors) -> None:
    """Add the reasons of one attempt to those that the pod collected before in this cycle."""
    known = job.task_errors.setdefault(task.key, TaskErrors())
    for reason, count in errors.counts.items():
        known.counts[reason] = known.counts.get(reason, 0) + count


def failed_pod(job: Job, podset: PodSet, task: Task, placed: int) -> FitError:
    """A pod of the gang found no node after ``placed`` others of its set did."""
    reason = task_error(job.task_errors.get(task.key))
    own = job.podsets[podset.name]
    gang = any(each.min_available > 1 for each in job.podsets.values())
    if not gang or own.used >= own.min_available:
        text = f"Resources were not found for pod {task.key} due to: {reason}"
    elif len(job.podsets) == 1 and own.name == DEFAULT_PODSET:
        text = (
            f"Resources were found for {placed} pods while {own.min_available} are required for gang "
            f"scheduling. Additional pods cannot be scheduled due to: {reason}"
        )
    else:
        text = (
            f"Resources were found for {placed} pods from all sub-groups while sub-group {own.name} requires "
            f"{own.min_available} pods for gang scheduling. Additional pods cannot be scheduled in this "
            f"sub-group due to: {reason}"
        )
    return FitError(POD_ERRORS, [text])


def delayed(delay: float, end: float) -> FitError:
    """The job may not evict others yet; ``end`` is the moment from which it may."""
    until = utc_moment(end).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = f"Workload is within its preemption delay window ({go_duration(delay)}) and may not trigger evictions"
    return FitError(DELAYED, [f"{text} before {until}"])


def go_duration(seconds: float) -> str:
    """Whole seconds as Go prints a duration: 5m0s, 1h0m0s, 45s."""
    whole = int(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def never_fits(task: Task, text: str) -> FitError:
    """The evicting actions give up on a pod that no node could hold."""
    return FitError(POD_ERRORS, [f"Resources were not found for pod {task.key} due to: {text}"])


def group_message(errors: Sequence[FitError]) -> str:
    """The condition's message: sorted, equal texts counted in front."""
    reason = errors[0].reason if len(errors) == 1 else DEFAULT_GROUP
    counts = Counter(message for error in errors for message in error.messages)
    parts = sorted(f"{count} {text}" if count > 1 else text for text, count in counts.items())
    return f"{reason}: " + ". \n".join(parts) + "." if parts else reason


def condition(errors: Sequence[FitError], prefix: str) -> Condition:
    """The scheduling condition of a job that was not placed."""
    reasons = tuple(Reason(error.reason, ", ".join(error.messages), error.queue) for error in errors)
    return Condition(message=prefix + group_message(errors), reasons=reasons)


def pod_message(job: Job, task: Task, prefix: str) -> str:
    """The PodScheduled=False text of a pod that stays pending."""
    errors = job.task_errors.get(task.key)
    if errors is not None:
        return prefix + task_error(errors)
    return prefix + (group_message(job.errors) if job.errors else DEFAULT_POD)


def unknown_subgroup(job: Job, task: Task, prefix: str) -> str:
    """A pod whose subgroup label names none of the group's."""
    name = task.pod.subgroup or DEFAULT_PODSET
    return f'{prefix}Pod references subgroup "{name}", which does not exist in PodGroup {job.key}'


def not_ready(job: Job) -> str:
    """Too few pods, or gated ones."""
    text = "Job is not ready for scheduling."
    for podset in job.podsets.values():
        if podset.ready:
            continue
        counts = f"currently {podset.alive} exist, {podset.gated} are gated"
        if podset.name == DEFAULT_PODSET:
            text += f" Waiting for {podset.min_available} pods, {counts}"
        else:
            text += f" Waiting for {podset.min_available} pods for SubGroup {podset.name}, {counts}."
    return text


def stale(job: Job) -> str:
    """A gang that runs below its minimum."""
    used = sum(podset.used for podset in job.podsets.values())
    minimum = sum(podset.min_available for podset in job.podsets.values())
    text = f"Job is stale. {used} pods are active, minMember is {minimum}"
    for podset in job.podsets.values():
        if not podset.gang_satisfied and podset.name != DEFAULT_PODSET:
            text += f", subGroup {podset.name} minMember is {podset.min_available} and {podset.used} pods are active"
    return text


def preempted(task: Task, job: Job) -> str:
    """Evicted for a workload of higher priority in the same queue."""
    return f"Pod {task.key} was preempted by higher priority workload {job.key}"


def consolidated(task: Task) -> str:
    """Moved to make room."""
    return f"Pod {task.key} was preempted and rescheduled due to bin packing (resource consolidation) procedure"


def reclaimed(task: Task, job: Job, victim: QueueState, reclaimer: QueueState) -> str:
    """Evicted for a workload of another queue; the two queues are those where the hierarchies part."""
    lines = [f"Pod {task.key} was preempted by workload {job.key}.", _uses(victim), _uses(reclaimer)]
    return "\n".join(lines)


def _uses(queue: QueueState) -> str:
    return (
        f"{queue.name} uses <{describe(queue.allocated)}> with a quota of <{describe(queue.deserved)}>, "
        f"fair-share of <{describe(queue.fair)}> and queue priority of <{queue.queue.priority}>."
    )


def stale_eviction(task: Task, minimum: int, subgroup: str) -> str:
    """Evicted because its gang stayed below its minimum."""
    part = f" in sub-group {subgroup}" if subgroup else ""
    return (
        f"Workload doesn't meet the minimum required number of pods ({minimum}){part}, "
        f"evicting remaining pod: {task.key}"
    )
