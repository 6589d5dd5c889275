"""Watches: from a version, from the current state, through selectors, and their ends."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from clusters.kinds import CONFIG_MAP, POD, Kind
from simulator.api import reading
from simulator.api.errors import ApiError
from simulator.api.reading import Event, ListOptions
from tests.simulator.api.conftest import Verbs, pod

DEADLINE_S = 10.0


def stream(verbs: Verbs, kind: Kind, namespace: str | None = None, **options: object) -> AsyncIterator[list[Event]]:
    return reading.watch(verbs.server, verbs.target(kind, namespace), ListOptions(**options))


async def take(events: AsyncIterator[list[Event]], count: int) -> list[tuple[str, str]]:
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(DEADLINE_S):
        async for batch in events:
            seen += [(event.type, event.entry.key[1] if event.entry else "") for event in batch]
            if len(seen) >= count:
                break
    await events.aclose()
    return seen


def test_a_watch_from_a_version_sees_what_came_after_it_and_only_that(verbs: Verbs) -> None:
    verbs.create(CONFIG_MAP, {"metadata": {"name": "before"}}, "default")
    version = verbs.page(CONFIG_MAP).resource_version
    verbs.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    verbs.patch(CONFIG_MAP, "a", {"data": {"x": "1"}}, "default")

    async def run() -> list[tuple[str, str]]:
        events = stream(verbs, CONFIG_MAP, "default", resource_version=version)
        asyncio.get_running_loop().call_later(0.01, verbs.delete, CONFIG_MAP, "a", "default")
        return await take(events, 3)

    assert asyncio.run(run()) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_a_deleted_object_carries_the_version_of_its_deletion(verbs: Verbs) -> None:
    verbs.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    version = verbs.page(CONFIG_MAP).resource_version
    verbs.delete(CONFIG_MAP, "a", "default")

    async def run() -> Event:
        async for batch in stream(verbs, CONFIG_MAP, resource_version=version):
            return batch[0]
        raise AssertionError

    event = asyncio.run(run())
    assert event.entry is not None
    assert event.entry.metadata["resourceVersion"] == str(event.resource_version)
    assert event.resource_version > int(version)


def test_without_a_version_the_state_comes_first(verbs: Verbs) -> None:
    async def run() -> list[tuple[str, str]]:
        return await take(stream(verbs, CONFIG_MAP, "default"), 1)

    assert asyncio.run(run()) == [("ADDED", "kube-root-ca.crt")]


def test_initial_events_end_with_a_marked_bookmark(verbs: Verbs) -> None:
    async def run() -> list[Event]:
        async for batch in stream(verbs, CONFIG_MAP, "default", send_initial_events=True, resource_version="0"):
            return batch
        raise AssertionError

    batch = asyncio.run(run())
    assert [(event.type, event.initial_end) for event in batch] == [("ADDED", False), ("BOOKMARK", True)]
    assert batch[1].resource_version == verbs.server.store.resource_version


def test_an_object_that_leaves_the_selection_is_deleted_for_the_watcher(verbs: Verbs) -> None:
    version = verbs.page(POD).resource_version
    verbs.create(POD, pod("p", labels={"a": "1"}), "default")
    verbs.patch(POD, "p", {"metadata": {"labels": {"a": "2"}}}, "default")
    verbs.patch(POD, "p", {"metadata": {"labels": {"b": "2"}}}, "default")
    verbs.patch(POD, "p", {"metadata": {"labels": {"a": "1"}}}, "default")

    async def run() -> list[tuple[str, str]]:
        return await take(stream(verbs, POD, resource_version=version, label_selector="a=1"), 3)

    assert asyncio.run(run()) == [("ADDED", "p"), ("DELETED", "p"), ("ADDED", "p")]


def test_a_version_whose_history_is_gone_is_410(verbs: Verbs) -> None:
    version = verbs.page(CONFIG_MAP).resource_version
    verbs.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    verbs.server.store.collection(("", "configmaps")).compact()

    async def run() -> None:
        await take(stream(verbs, CONFIG_MAP, resource_version=version), 1)

    with pytest.raises(ApiError) as caught:
        asyncio.run(run())
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    assert caught.value.message.startswith(f"too old resource version: {version} (")


def test_a_watcher_that_falls_behind_the_history_ends_with_410(verbs: Verbs) -> None:
    async def run() -> None:
        events = stream(verbs, CONFIG_MAP, "default")
        await anext(events)
        for number in range(2001):
            verbs.patch(CONFIG_MAP, "kube-root-ca.crt", {"data": {"n": str(number)}}, "default")
        async with asyncio.timeout(DEADLINE_S):
            await anext(events)

    with pytest.raises(ApiError, match="too old resource version"):
        asyncio.run(run())


def test_a_watch_ends_after_its_timeout_with_a_bookmark(verbs: Verbs) -> None:
    version = verbs.page(CONFIG_MAP).resource_version
    verbs.create(POD, pod("p"), "default")

    async def run() -> list[Event]:
        options = {"resource_version": version, "timeout_seconds": 0.05, "bookmarks": True}
        return [event async for batch in stream(verbs, CONFIG_MAP, **options) for event in batch]

    events = asyncio.run(run())
    assert [event.type for event in events] == ["BOOKMARK"]
    assert events[0].resource_version == verbs.server.store.resource_version


def test_a_frozen_watch_delivers_everything_once_thawed(verbs: Verbs) -> None:
    async def run() -> list[tuple[str, str]]:
        version = verbs.page(CONFIG_MAP).resource_version
        events = stream(verbs, CONFIG_MAP, resource_version=version)
        verbs.server.faults.switch_on("watch-frozen")
        waiting = asyncio.create_task(take(events, 2))
        await asyncio.sleep(0)
        verbs.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
        verbs.create(CONFIG_MAP, {"metadata": {"name": "b"}}, "default")
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        verbs.server.faults.switch_off("watch-frozen")
        return await waiting

    assert asyncio.run(run()) == [("ADDED", "a"), ("ADDED", "b")]
