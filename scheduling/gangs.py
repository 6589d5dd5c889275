"""How a pod group becomes a tree of minimums, and which of its pods are next: to place, to evict.

Follows KAI's ``podgroup_info`` (allocation_info, eviction_info, subgroup factory) and ``subgrouporder``.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from scheduling.resources import Triple
from scheduling.state import ACTIVE, COUNTED, DEFAULT_PODSET, Job, PodSet, SubGroupSet, Task, total
from scheduling.structs import PodGroup, SubGroup, TopologyConstraint

Member = SubGroupSet | PodSet
AnyMember = TypeVar("AnyMember", SubGroupSet, PodSet, SubGroupSet | PodSet)


def job_of(group: PodGroup) -> Job:
    """The job of a pod group, without pods yet. The root minimum is ignored when subgroups exist."""
    root = SubGroupSet("", group.topology, group.min_subgroup)
    if not group.subgroups:
        minimum = 1 if group.min_member is None else group.min_member
        _adopt(root, PodSet(DEFAULT_PODSET, minimum, TopologyConstraint()))
        return Job(group, root)
    inner = {subgroup.parent.lower() for subgroup in group.subgroups if subgroup.parent}
    sets = {
        subgroup.name: SubGroupSet(subgroup.name, subgroup.topology, subgroup.min_subgroup)
        for subgroup in group.subgroups
        if subgroup.name in inner
    }
    for subgroup in group.subgroups:
        parent = sets.get(subgroup.parent.lower(), root) if subgroup.parent else root
        _adopt(parent, sets.get(subgroup.name) or _podset(subgroup))
    return Job(group, root)


def _podset(subgroup: SubGroup) -> PodSet:
    minimum = 1 if subgroup.min_member is None else subgroup.min_member
    return PodSet(subgroup.name, minimum, subgroup.topology)


def _adopt(parent: SubGroupSet, member: Member) -> None:
    member.parent = parent
    if isinstance(member, PodSet):
        parent.podsets.append(member)
    else:
        parent.groups.append(member)


def ordered(members: Iterable[AnyMember], *, reverse: bool = False) -> list[AnyMember]:
    """Members below their minimum first, then by how far they are above it, then by name."""
    return sorted(members, key=_member_order, reverse=reverse)


def _member_order(member: Member) -> tuple[bool, float, str]:
    if not member.satisfied:
        return (False, 0.0, member.name)
    if isinstance(member, PodSet):
        placed, minimum = member.active, member.min_available
    else:
        placed, minimum = member.satisfied_members, member.needed
    ratio = placed / minimum if minimum else math.inf * placed if placed else 0.0
    return (True, ratio, member.name)


def tasks_to_place(job: Job, *, real: bool) -> list[Task]:
    """The pods of the next attempt: what the minimum lacks, or one surplus pod when it is met."""
    if real not in job.to_place:
        job.to_place[real] = _collect(job.root, real=real)
    return job.to_place[real]


def quota_to_place(job: Job, *, real: bool) -> Triple:
    """What the next attempt asks of the queues."""
    if real not in job.to_place_quota:
        job.to_place_quota[real] = total(tasks_to_place(job, real=real))
    return job.to_place_quota[real]


def _collect(subgroup_set: SubGroupSet, *, real: bool) -> list[Task]:
    members = ordered(subgroup_set.members())
    if subgroup_set.satisfied:
        for member in members:
            if tasks := _collect_member(member, real=real):
                return tasks
        return []
    lacking = subgroup_set.needed - subgroup_set.satisfied_members
    collected: list[Task] = []
    for member in members:
        if lacking <= 0:
            break
        tasks = [] if member.satisfied else _collect_member(member, real=real)
        if tasks:
            collected.extend(tasks)
            lacking -= 1
    return collected


def _collect_member(member: Member, *, real: bool) -> list[Task]:
    if isinstance(member, SubGroupSet):
        return _collect(member, real=real)
    wanted = max(member.min_available - member.active, 1)
    return list(islice((task for task in member.tasks if task.may_be_placed(real=real)), wanted))


def tasks_to_evict(job: Job) -> tuple[list[Task], bool]:
    """The next victims of a job, and whether pods remain: surplus first, pod by pod, then everything."""
    victims = _surplus(job.root) or _placed(job.root)
    return victims, len(victims) < job.active


def _surplus(subgroup_set: SubGroupSet) -> list[Task]:
    """A surplus pod somewhere below, else a whole member that is not needed, last in order first."""
    if not subgroup_set.satisfied_members:
        return []
    members = ordered(subgroup_set.members(), reverse=True)
    for member in members:
        if isinstance(member, SubGroupSet):
            victims = _surplus(member)
        else:
            victims = _placed(member)[:1] if member.active > member.min_available else []
        if victims:
            return victims
    if subgroup_set.satisfied_members > subgroup_set.needed:
        for member in members:
            if victims := _placed(member):
                return victims
    return []


def _placed(member: Member) -> list[Task]:
    podsets = [member] if isinstance(member, PodSet) else list(member.all_podsets())
    return [task for podset in podsets for task in reversed(podset.tasks) if task.status in ACTIVE]


def partial(job: Job, tasks: Sequence[Task]) -> Job:
    """The job as if it had only these pods, its minimums unchanged; counters are those of now."""
    clone = Job(job.group, _clone(job.root))
    names = {task.pod.subgroup or DEFAULT_PODSET for task in tasks}
    chosen = set(tasks)
    for name in names:
        clone.podsets[name].fill([task for task in job.podsets[name].tasks if task in chosen])
    held = [task for podset in clone.podsets.values() for task in podset.tasks if task.status in COUNTED]
    clone.allocated = list(total(held))
    return clone


def attempt(job: Job, tasks: Sequence[Task]) -> Job:
    """The job with its placed pods and some of the pending ones, minimums lowered to what it holds."""
    placed = [task for task in job.tasks() if task.status in ACTIVE]
    clone = partial(job, [*placed, *tasks])
    for podset in clone.podsets.values():
        if podset.size:
            podset.min_available = min(podset.min_available, podset.size)
    _lower(clone.root)
    return clone


def _lower(subgroup_set: SubGroupSet) -> bool:
    """Lower ``min_subgroup`` to the members that hold pods; says whether there are any."""
    filled = sum(bool(podset.size) for podset in subgroup_set.podsets)
    filled += sum(_lower(group) for group in subgroup_set.groups)
    if subgroup_set.min_subgroup is not None:
        subgroup_set.min_subgroup = min(subgroup_set.min_subgroup, filled)
    return filled > 0


def _clone(subgroup_set: SubGroupSet) -> SubGroupSet:
    clone = SubGroupSet(subgroup_set.name, subgroup_set.constraint, subgroup_set.min_subgroup)
    for podset in subgroup_set.podsets:
        _adopt(clone, PodSet(podset.name, podset.min_available, podset.constraint))
    for group in subgroup_set.groups:
        _adopt(clone, _clone(group))
    return clone
