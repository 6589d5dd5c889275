"""Comparing what would be taken over while somebody waits: bounded, and no longer than the cluster answers."""

import pytest

from clusters.adopting import Candidate
from clusters.kinds import KAI_QUEUE
from clusters.kube.errors import Forbidden, Unavailable
from clusters.kube.fake import FakeGateway
from clusters.live import comparisons
from clusters.models import ClusterObject
from tests.clusters.manifests import queue


def candidates(gateway: FakeGateway, count: int) -> list[Candidate]:
    live = gateway.put(KAI_QUEUE, queue())
    found = ClusterObject(name="team-a", uid=live["metadata"]["uid"], manifest=live)
    return [Candidate(found, KAI_QUEUE, "Department", "team-a", wanted=queue())] * count


def asked(gateway: FakeGateway) -> int:
    return sum(call.verb == "get" for call in gateway.calls)


def test_a_cluster_that_does_not_answer_is_not_asked_for_the_others() -> None:
    gateway = FakeGateway()
    chosen = candidates(gateway, 5)
    gateway.fail_at(2, Unavailable("The API server does not answer."))

    found = list(comparisons(gateway, chosen))

    assert [one.error for one in found] == ["", *["The API server does not answer."] * 4]
    assert asked(gateway) == 2


def test_one_that_may_not_be_read_stops_no_other() -> None:
    gateway = FakeGateway()
    chosen = candidates(gateway, 3)
    gateway.fail_at(2, Forbidden("get is not permitted"))

    assert [one.error for one in comparisons(gateway, chosen)] == ["", "get is not permitted", ""]


@pytest.mark.parametrize(("chosen", "compared"), [(99, 99), (130, 100)])
def test_so_many_are_compared_at_a_time(chosen: int, compared: int) -> None:
    gateway = FakeGateway()

    found = list(comparisons(gateway, candidates(gateway, chosen)))

    assert len(found) == chosen
    assert sum(not one.error for one in found) == asked(gateway) == compared
