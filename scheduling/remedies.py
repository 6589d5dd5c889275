"""What would let a waiting pod group run: each remedy is offered only after the engine placed the group with it."""

from collections.abc import Iterator, Sequence
from functools import partial

from scheduling.diagnosis import cured
from scheduling.diagnosis_scene import Outcome, Scene
from scheduling.diagnosis_structs import Cure, Diagnosis, Obstacle
from scheduling.elsewhere import ROOM, Elsewhere
from scheduling.remedy_options import OPTIONS, PLAIN, Option
from scheduling.remedy_sizes import fewer_pods
from scheduling.remedy_structs import Act, Remedy, Step

MAX_REMEDIES = 6


def find_remedies(scene: Scene, diagnosis: Diagnosis, elsewhere: Sequence[Elsewhere] = ()) -> tuple[Remedy, ...]:
    """Ways to let it run, the shortest first. ``elsewhere`` is what other pools have for it.

    With several causes a remedy has a step for each of them.
    """
    if not diagnosis.obstacles:
        return ()
    options = [_options(scene, diagnosis.obstacles, each) for each in diagnosis.obstacles]
    found: list[Remedy] = []
    for tries, chosen in enumerate((*_bypasses(scene, diagnosis, elsewhere), *_combined(options))):
        if len(found) >= MAX_REMEDIES or tries >= scene.effort:
            break
        steps = tuple(step for step, _ in chosen)
        outcome = _tried(scene, [cure for _, cure in chosen])
        if outcome is not None and steps not in [each.steps for each in found]:
            found.append(Remedy(steps, outcome))
    return tuple(sorted(found, key=_effort))


def _tried(scene: Scene, cures: Sequence[Cure]) -> Outcome | None:
    for cure in cures:
        scene = cure(scene)
    return scene.outcome


def _effort(remedy: Remedy) -> tuple[int, int, int]:
    order = list(Act)
    return (len(remedy.steps), len(remedy.outcome.evicted), min(order.index(step.act) for step in remedy.steps))


def _combined(options: Sequence[Sequence[Option]]) -> Iterator[tuple[Option, ...]]:
    """The first option of each cause, then each other option with the first ones of the rest."""
    if not all(options):
        return
    first = tuple(each[0] for each in options)
    yield first
    for place, each in enumerate(options):
        for option in each[1:]:
            yield (*first[:place], option, *first[place + 1 :])


def _options(scene: Scene, obstacles: Sequence[Obstacle], obstacle: Obstacle) -> list[Option]:
    """Options for one cause that work where all the other causes are gone."""
    place = next(index for index, each in enumerate(obstacles) if each is obstacle)
    before, after = obstacles[:place], obstacles[place + 1 :]
    rest = cured(cured(scene, before), after)
    make = OPTIONS.get(obstacle.cause.code)
    made = list(make(rest, obstacle.cause)) if make else []
    plain = PLAIN.get(obstacle.cause.code)
    if plain is not None:
        cause = obstacle.cause
        made.append((Step(plain, cause.names, cause.numbers, cause.nodes), obstacle.cure))
    begun = cured(scene, before)
    return [(step, cure) for step, cure in made if cured(cure(begun), after).runs]


def _bypasses(scene: Scene, diagnosis: Diagnosis, elsewhere: Sequence[Elsewhere]) -> Iterator[tuple[Option, ...]]:
    """Steps that go round causes of room altogether: another pool, where more of its pods run than now; fewer pods."""
    if not any(cause.code in ROOM for cause in diagnosis.causes):
        return
    for each in elsewhere:
        outcome = each.scene.outcome
        if outcome is not None and len(outcome.nodes) > scene.job.active:
            yield ((Step(Act.OTHER_POOL, {"pool": each.pool, "queue": each.queue}), partial(_there, each)),)
    for option in fewer_pods(scene):
        yield (option,)


def _there(elsewhere: Elsewhere, _scene: Scene) -> Scene:
    return elsewhere.scene
