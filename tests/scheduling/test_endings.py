"""Whose end would let a group run, and how much of the engine's work that takes."""

from typing import ClassVar

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Outcome, Scene
from scheduling.diagnosis_structs import Code
from scheduling.session import Session
from tests.scheduling.build import RACKS, Cluster, node, queue, within


class Searching(Scene):
    """Notes of each cycle that is asked for whether it may search for victims."""

    asked: ClassVar[list[bool]] = []

    def _decided(self, session: Session) -> Outcome | None:
        self.asked.append(self.config.search_budget > 0)
        return super()._decided(session)


def test_whose_end_helps_is_asked_with_few_searches_for_victims() -> None:
    """In each rack somebody stays who cannot be evicted, so that every search goes through all victims in vain."""
    nodes = [node(f"n{index}", 8, f"z.r{index // 4}") for index in range(64)]
    cluster = Cluster(*nodes, queues=(queue("q", quota=512), queue("o")), topologies=(RACKS,))
    for index in range(64):
        cluster.gang(f"a{index:02d}", 8, on=(f"n{index}",), queue="o", preemptible=index % 2 == 1)
    Searching.asked.clear()

    found = diagnose(Searching(cluster.gang("g", 8, 8, 8, 8, topology=within("rack")).snapshot(), "default/g"))

    (cause,) = found.causes
    assert (cause.code, cause.starts_when) == (Code.LEVEL_FULL, (("default/a00", "default/a02"),))
    assert sum(Searching.asked) <= 6, "as it is, twice; three largest holders; those whom it may not evict"


def test_an_end_that_helps_only_with_an_eviction_is_named_all_the_same() -> None:
    """Of the rack a0 cannot be evicted and a1 can: after the end of a0 it takes the place of a1."""
    cluster = Cluster(node("n0", 8), node("n1", 8), queues=(queue("q", quota=16), queue("o")))
    cluster.gang("a0", 8, on=("n0",), queue="o", preemptible=False).gang("a1", 8, on=("n1",), queue="o")

    found = diagnose(Scene(cluster.gang("g", 8, 8).snapshot(), "default/g"))

    (cause,) = found.causes
    assert cause.starts_when == (("default/a0",),)
