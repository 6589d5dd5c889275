"""Two installations of Muster on one real cluster, seen from both sides: each says so, and neither fights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from accounts.models import User
from clusters.claim import ANNOTATION
from core.conditions import find
from tests.cluster.world import QUEUES, World, account, connected, department, queue_names, synced
from tests.contract.client import Api

HOME = "/api/v1/namespaces/muster-system"


@pytest.fixture
def home(api: Api) -> Iterator[str]:
    """The path of the namespace in which both say who they are; their notes go at the end."""
    yield HOME
    api.merge(HOME, {"metadata": {"annotations": None}})


@contextmanager
def acting(settings: Any, key: str) -> Iterator[None]:
    """What is done inside is done by the installation with this key."""
    before = settings.SECRET_KEY
    settings.SECRET_KEY = key
    yield
    settings.SECRET_KEY = before


def look(world: World) -> tuple[str, str]:
    """One look at everything; what this installation then says of others on its cluster."""
    world.run_all()
    world.cluster.refresh_from_db()
    found = find(world.cluster.conditions, "SoleMuster") or {}
    return found["status"], found["reason"]


def versions(api: Api) -> dict[str, str]:
    """Of all that the two could fight for."""
    objects = [api.get(HOME).body, *api.get(QUEUES).body["items"]]
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in objects}


def test_each_of_two_musters_says_so_and_neither_fights(
    world: World, api: Api, home: str, admin: User, settings: Any
) -> None:
    settings.SECRET_KEY_FALLBACKS = []
    one = department(world, "one")
    world.run_until_quiet()
    assert look(world) == ("True", "Claimed")
    with acting(settings, "another installation's"), connected(account(api), admin, "seen-by-another") as other:
        two = department(other, "two")
        assert look(other) == ("False", "OtherMuster")
    assert look(world) == ("False", "OthersKeptOut")
    assert (synced(one)["status"], synced(two)["reason"]) == ("True", "OtherMuster")

    before = versions(api)
    for _ in range(3):
        with acting(settings, "another installation's"):
            assert look(other) == ("False", "OtherMuster")
        assert look(world) == ("False", "OthersKeptOut")
    assert versions(api) == before
    assert queue_names(api) == ["default", "one"]

    api.merge(f"{QUEUES}/one", {"spec": {"priority": 7}})
    with acting(settings, "another installation's"):
        look(other)
    assert api.get(f"{QUEUES}/one").body["spec"]["priority"] == 7
    look(world)
    assert api.get(f"{QUEUES}/one").body["spec"]["priority"] == 100


def test_when_the_first_of_two_musters_lets_go_the_other_takes_over(
    world: World, api: Api, home: str, admin: User, settings: Any
) -> None:
    settings.SECRET_KEY_FALLBACKS = []
    one = department(world, "one")
    world.run_until_quiet()
    with acting(settings, "another installation's"), connected(account(api), admin, "seen-by-another") as other:
        two = department(other, "two")
        look(other)
        api.merge(home, {"metadata": {"annotations": {ANNOTATION: None}}})
        assert look(other) == ("True", "Claimed")
        other.settle(lambda: synced(two).get("status") == "True", "the other's queue to be written")
    assert look(world) == ("False", "OtherMuster")
    assert synced(one)["reason"] == "OtherMuster"
    with acting(settings, "another installation's"):
        assert look(other) == ("False", "OthersKeptOut")

    before = versions(api)
    for _ in range(3):
        look(world)
        with acting(settings, "another installation's"):
            look(other)
    assert versions(api) == before
    assert queue_names(api) == ["default", "one", "two"]
