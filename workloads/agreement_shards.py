"""A workload's own part of a shard taken out, and whether anything else in it changed. Pure.

Two shards are the same for the scheduler where nodes, queues, topologies, settings, other gangs and their pods are:
where pods stand, whether they end or wait behind gates. What the scheduler itself notes on gangs does not count.
"""

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from scheduling.field import Answer, Question
from scheduling.structs import FINISHED, Pod, PodGroup, Snapshot


class Evidence(msgspec.Struct, frozen=True):
    """What the engine was asked, and what it answered."""

    question: Question
    answer: Answer


@dataclass(frozen=True, slots=True)
class Spared:
    """What may change through the decision itself: gangs that had to make room, by key, and pods that were ending."""

    gangs: frozenset[str] = frozenset()
    ending: bool = False


def pack(evidence: Evidence) -> bytes:
    """As it is stored."""
    return zlib.compress(msgspec.msgpack.encode(evidence), 1)


def unpack(data: bytes) -> Evidence:
    """What was stored. Raises `msgspec.ValidationError` for what another version stored in another shape."""
    return msgspec.msgpack.decode(zlib.decompress(data), type=Evidence)


def without(snapshot: Snapshot, groups: Collection[str], pods: Collection[str]) -> Snapshot:
    """The shard without these pod groups and pods, by key."""
    return msgspec.structs.replace(
        snapshot,
        podgroups=tuple(group for group in snapshot.podgroups if group.key not in groups),
        pods=tuple(pod for pod in snapshot.pods if pod.key not in pods and pod.podgroup not in groups),
    )


def digest(snapshot: Snapshot) -> str:
    """What stands for the shard, whatever the moment."""
    pods = _pods(snapshot, Spared(), frozenset())
    groups = _groups(snapshot, Spared())
    whole = (snapshot.nodes, snapshot.queues, snapshot.topologies, sorted(groups.items()), sorted(pods.items()))
    return sha256(msgspec.msgpack.encode(whole)).hexdigest()


def changes(before: Snapshot, after: Snapshot, spared: Spared) -> list[str]:
    """Kinds of which something changed: nodes, queues, topologies, gangs, pods."""
    ended = frozenset(pod.uid for pod in before.pods if pod.releasing) if spared.ending else frozenset()
    same = {
        "nodes": {each.name: each for each in before.nodes} == {each.name: each for each in after.nodes},
        "queues": {each.name: each for each in before.queues} == {each.name: each for each in after.queues},
        "topologies": {t.name: t for t in before.topologies} == {t.name: t for t in after.topologies},
        "gangs": _groups(before, spared) == _groups(after, spared),
        "pods": _pods(before, spared, ended) == _pods(after, spared, ended),
    }
    return [kind for kind, equal in same.items() if not equal]


def victims(before: Snapshot, after: Snapshot, gangs: Collection[str]) -> int:
    """How many pods of these gangs that stood somewhere are gone or are ending."""
    staying = {pod.uid for pod in after.pods if not pod.releasing}
    stood = [pod for pod in before.pods if pod.podgroup in gangs and pod.node and not pod.releasing]
    return sum(pod.uid not in staying for pod in stood)


def _groups(snapshot: Snapshot, spared: Spared) -> Mapping[str, PodGroup]:
    return {
        group.key: msgspec.structs.replace(
            group, last_start=None, last_eviction=None, stale_since=None, backed_off=False
        )
        for group in snapshot.podgroups
        if group.key not in spared.gangs
    }


def _pods(snapshot: Snapshot, spared: Spared, ended: Collection[str]) -> Mapping[str, Pod]:
    return {
        pod.key: msgspec.structs.replace(pod, phase="ended" if pod.phase in FINISHED else "living")
        for pod in snapshot.pods
        if pod.podgroup not in spared.gangs and pod.uid not in ended
    }
