"""What was broken is named, nothing else is, and undoing exactly that lets the gang run: over generated situations."""

from collections import Counter
from dataclasses import replace

import pytest

from scheduling.cycle import run_cycle
from scheduling.diagnosis import cured, diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code
from scheduling.shards import of_pool
from tests.scheduling.healthy import KEY
from tests.scheduling.situations import BREAKS, FULL, Break, situation

SITUATIONS = 400


def placed(scene: Scene) -> bool:
    """Whether one cycle of the engine, asked directly, places every pod that the gang must start with."""
    result = run_cycle(of_pool(scene.snapshot, scene.group.pool), scene.config)
    own = [pod.key for pod in scene.snapshot.pods if pod.podgroup == KEY]
    return all(key in result.bound or key in result.pipelined for key in own)


def kind(code: Code) -> Code:
    """Full and free in pieces are one thing here: which of the two follows from numbers that chance made."""
    return Code.POOL_FULL if code in FULL else code


def evidence(cause: Cause, wanted: dict[str, object]) -> dict[str, object]:
    found: dict[str, object] = dict(cause.names)
    found["nodes"] = sorted(note.name for note in cause.nodes)
    return {key: found.get(key) for key in wanted}


def about(causes: tuple[Cause, ...], each: Break) -> Cause:
    return next(cause for cause in causes if kind(cause.code) == each.code)


@pytest.mark.parametrize("block", range(8))
def test_what_was_broken_is_named_and_nothing_else(block: int) -> None:
    for seed in range(block * SITUATIONS // 8, (block + 1) * SITUATIONS // 8):
        healthy, broken, chosen = situation(seed)
        found = diagnose(broken)
        named = sorted(kind(cause.code) for cause in found.causes)
        assert named == sorted(each.code for each in chosen), (seed, found.causes)
        for each in chosen:
            wanted = dict(each.evidence(broken))
            assert evidence(about(found.causes, each), wanted) == wanted, seed
        assert placed(healthy), seed


@pytest.mark.parametrize("block", range(4))
def test_all_that_is_named_has_to_go_and_nothing_more(block: int) -> None:
    for seed in range(block * 25, (block + 1) * 25):
        _, broken, _ = situation(1000 + seed)
        obstacles = diagnose(broken).obstacles
        assert cured(broken, obstacles).runs, seed
        for obstacle in obstacles:
            assert not cured(broken, [each for each in obstacles if each is not obstacle]).runs, (seed, obstacle.cause)


@pytest.mark.parametrize("block", range(4))
def test_a_changed_scene_is_answered_as_one_built_anew(block: int) -> None:
    """Sessions of changed scenes have calm gangs in common: neither question may leave a trace in the other."""
    for seed in range(block * 25, (block + 1) * 25):
        _, broken, _ = situation(2000 + seed)
        obstacles = diagnose(broken).obstacles
        holders = sorted({pod.podgroup for pod in broken.snapshot.pods if pod.node and pod.podgroup})
        changed = [cured(broken, [each]) for each in obstacles] + [broken.without((key,)) for key in holders]
        for scene in (*changed, cured(broken, obstacles), broken):
            anew = replace(scene, origin=None)
            assert scene.outcome == anew.outcome, seed


def test_the_situations_cover_every_kind_of_break() -> None:
    seen = Counter(each.code for seed in range(SITUATIONS) for each in situation(seed)[2])
    assert set(seen) == {each.code for each in BREAKS}
    assert min(seen.values()) >= 3, seen
