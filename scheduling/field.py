"""Cases from the field: one shard as it was seen, gangs that were submitted to it, and where the scheduler put them.

A case is a line that ``scheduling.replay`` reads: ``via`` is ``field``, ``input`` holds ``snapshot``, ``config`` and
``gangs`` as the structs of this package spell them, ``result`` what happened (``Seen``). Only gangs that start at once
take part: those that wait for another one are decided later, on another state of the cluster.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from scheduling.preview import PreparedShard
from scheduling.preview_structs import Gang, Preview, Verdict
from scheduling.preview_variants import equal_answers
from scheduling.structs import Pod, SchedulerConfig, Snapshot

VIA = "field"
FAMILY = "field"
MOST_ANSWERS = 24

Asked = tuple[float, float, float, float, int]
"""GPUs, millicores, bytes, GPU fraction, GPU memory in MiB of one pod: pods that ask the same may change places."""


class Place(msgspec.Struct, frozen=True, order=True):
    """So many pods that ask the same on one node."""

    node: str
    asked: Asked
    pods: int


class Seen(msgspec.Struct, frozen=True):
    """Where pods stand, sorted, and how many pods of others had to go for them."""

    places: tuple[Place, ...] = ()
    victims: int = 0

    @property
    def pods(self) -> int:
        """How many pods stand somewhere."""
        return sum(place.pods for place in self.places)


class Question(msgspec.Struct, frozen=True):
    """What the engine is asked: a shard without these gangs, its scheduler's settings, the gangs."""

    snapshot: Snapshot
    config: SchedulerConfig
    gangs: tuple[Gang, ...]


class Answer(msgspec.Struct, frozen=True):
    """What the engine expects: the verdict of the first answer, and every answer that is equally good.

    ``victims`` are the keys of the pods that have to go by the first one."""

    verdict: Verdict
    expected: tuple[Seen, ...]
    victims: tuple[str, ...] = ()


def answer(question: Question) -> Answer:
    """Ask the engine. It costs a cycle for each answer that is equally good, at most `MOST_ANSWERS`."""
    shard = PreparedShard(question.snapshot, question.config)
    found = equal_answers(shard, question.gangs, most=MOST_ANSWERS)
    expected = dict.fromkeys(_expected(question.gangs, preview) for preview in found)
    return Answer(found[0].verdict, tuple(expected), tuple(sorted(_victims(found[0]))))


def seen_of(pods: Iterable[tuple[Pod, str]], victims: int = 0) -> Seen:
    """What these pods on these nodes amount to."""
    counts = Counter((node, asked_of(pod)) for pod, node in pods if node)
    return Seen(tuple(sorted(Place(node, asked, number) for (node, asked), number in counts.items())), victims)


def asked_of(pod: Pod) -> Asked:
    """What makes two pods interchangeable."""
    amounts = pod.requests
    return (amounts.gpu, amounts.cpu, amounts.memory, pod.gpu_fraction, pod.gpu_memory_mib)


def misses(expected: Sequence[Seen], seen: Seen) -> dict[str, list[str]]:
    """What differs from the nearest of the answers, by the aspects of a replay; empty where one of them is what
    happened. ``verdict``: how many pods of each shape were placed; ``nodes``: where; ``victims``: how many went."""
    found = [_differences(each, seen) for each in expected]
    return min(found, key=lambda each: ("verdict" in each, len(each)), default={})


def compare_field(case: Mapping[str, Any]) -> dict[str, list[str]]:
    """Ask the engine about a case and list what differs from what happened. Raises `msgspec.ValidationError`."""
    question = msgspec.convert(case["input"], Question)
    return misses(answer(question).expected, msgspec.convert(case["result"], Seen))


def plain(value: Any) -> Any:
    """A struct as JSON values, fields that have their default left out: a shard is mostly those."""
    if isinstance(value, msgspec.Struct):
        kept = ((each, getattr(value, each.name)) for each in msgspec.structs.fields(value))
        return {each.name: plain(found) for each, found in kept if not _is_default(each, found)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def _is_default(field: msgspec.structs.FieldInfo, found: Any) -> bool:
    empty = field.default_factory is not msgspec.NODEFAULT and not found
    return empty or bool(found == field.default)


def _expected(gangs: Sequence[Gang], preview: Preview) -> Seen:
    pods = {pod.key: pod for gang in gangs for pod in gang.pods}
    placed = ((pods[key], node) for gang in preview.gangs for key, node in gang.placed.items())
    return seen_of(placed, len(_victims(preview)))


def _victims(preview: Preview) -> set[str]:
    return {each.pod for gang in preview.gangs for each in gang.evicted}


def _differences(expected: Seen, seen: Seen) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if _shapes(expected) != _shapes(seen):
        found["verdict"] = [f"pods placed: recorded {seen.pods}, got {expected.pods}"]
    if expected.places != seen.places:
        found["nodes"] = [f"pods per node: recorded {_per_node(seen)}, got {_per_node(expected)}"]
    if expected.victims != seen.victims:
        found["victims"] = [f"pods evicted: recorded {seen.victims}, got {expected.victims}"]
    return found


def _shapes(seen: Seen) -> Counter[Asked]:
    counts: Counter[Asked] = Counter()
    for place in seen.places:
        counts[place.asked] += place.pods
    return counts


def _per_node(seen: Seen) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for place in seen.places:
        counts[place.node] += place.pods
    return dict(counts)
