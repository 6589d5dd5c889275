"""The gang made smaller: how many pods of a role still fit."""

from collections.abc import Iterator
from functools import partial

import msgspec

from scheduling.diagnosis_scene import Scene, waiting
from scheduling.diagnosis_structs import Cure
from scheduling.remedy_structs import Act, Step
from scheduling.state import DEFAULT_PODSET, PodSet


def fewer_pods(scene: Scene) -> Iterator[tuple[Step, Cure]]:
    """For each role with several waiting pods that use GPUs: the largest number of them that runs."""
    for podset in scene.job.podsets.values():
        pods = [task for task in podset.tasks if waiting(task.pod)]
        if podset.active or len(pods) < 2 or not any(task.pod.requests.gpu for task in pods):
            continue
        most = _most(scene, podset, len(pods))
        if most:
            name = "" if podset.name == DEFAULT_PODSET else podset.name
            numbers = {"from": len(pods), "to": most, "gpusEach": pods[0].pod.requests.gpu}
            cure = partial(with_fewer, podset=podset.name, count=most)
            yield Step(Act.FEWER_PODS, {"subgroup": name}, numbers), cure


def _most(scene: Scene, podset: PodSet, count: int) -> int:
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if with_fewer(scene, podset.name, middle).runs else (low, middle)
    return low


def with_fewer(scene: Scene, podset: str, count: int) -> Scene:
    """The scene with so many pods in a pod set, which are all of its minimum."""
    own = [task.key for task in scene.job.podsets[podset].tasks]
    gone = set(own[count:])
    pods = tuple(pod for pod in scene.snapshot.pods if pod.key not in gone)
    group = scene.group
    if podset == DEFAULT_PODSET:
        minimum = None if group.min_member is None else min(group.min_member, count)
        return scene.with_snapshot(pods=pods).with_group(min_member=minimum)
    subgroups = tuple(
        msgspec.structs.replace(each, min_member=min(each.min_member or 1, count)) if each.name == podset else each
        for each in group.subgroups
    )
    return scene.with_snapshot(pods=pods).with_group(subgroups=subgroups)
