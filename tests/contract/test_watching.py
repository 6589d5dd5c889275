"""Watches: order, resume, bookmarks, what a selector lets through, 410."""

import itertools
from typing import Any

from tests.contract.client import Api
from tests.contract.steps import config, labelled, widget


def _take(api: Api, count: int, path: str = "configmaps", **query: Any) -> list[dict[str, Any]]:
    return list(itertools.islice(api.watch(path, **query), count))


def _told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def _version(api: Api, path: str = "configmaps") -> str:
    return str(api.get(path).meta["resourceVersion"])


def test_a_watch_tells_what_happened_since_a_version_in_order(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", config("a", x="1"))
    api.merge("configmaps/a", {"data": {"x": "2"}})
    api.post("configmaps", config("b"))
    api.delete("configmaps/a")

    events = _take(api, 4, resourceVersion=version)

    assert _told(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert events[1]["object"]["data"] == {"x": "2"}
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_events_carry_kind_and_version(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", config("a"))

    (event,) = _take(api, 1, resourceVersion=version)

    assert (event["object"]["kind"], event["object"]["apiVersion"]) == ("ConfigMap", "v1")


def test_a_watch_resumes_after_the_last_event_seen(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", config("a"))
    api.post("configmaps", config("b"))
    (first,) = _take(api, 1, resourceVersion=version)

    (second,) = _take(api, 1, resourceVersion=first["object"]["metadata"]["resourceVersion"])

    assert _told([second]) == [("ADDED", "b")]


def test_a_deleted_object_comes_with_the_version_of_its_deletion(api: Api) -> None:
    made = api.post("configmaps", config("a"))
    api.delete("configmaps/a")

    (event,) = _take(api, 1, resourceVersion=made.meta["resourceVersion"])

    assert event["type"] == "DELETED"
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(made.meta["resourceVersion"])


def test_without_a_version_a_watch_begins_with_what_is_there(api: Api) -> None:
    api.post("configmaps", config("a"))
    for query in ({}, {"resourceVersion": "0"}):
        events = _take(api, 2, fieldSelector="metadata.name!=none", **query)
        assert {name for _, name in _told(events)} == {"a", "kube-root-ca.crt"}
        assert {event["type"] for event in events} == {"ADDED"}


def test_what_leaves_a_selector_is_deleted_and_what_enters_is_added(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", labelled("a", app="web"))
    api.merge("configmaps/a", {"metadata": {"labels": {"app": "db"}}})
    api.merge("configmaps/a", {"metadata": {"labels": {"app": "web"}}})
    api.merge("configmaps/a", {"data": {"x": "1"}})

    events = _take(api, 4, resourceVersion=version, labelSelector="app=web")

    assert _told(events) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a")]


def test_a_watch_of_one_object_by_name(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", config("a"))
    api.post("configmaps", config("b"))

    (event,) = _take(api, 1, resourceVersion=version, fieldSelector="metadata.name=b")

    assert _told([event]) == [("ADDED", "b")]


def test_initial_events_end_with_a_bookmark_that_says_so(api: Api) -> None:
    api.post("widgets/widgets", widget())
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}

    events = _take(api, 2, "widgets/widgets", **query)

    assert _told(events[:1]) == [("ADDED", "w")]
    assert events[1]["type"] == "BOOKMARK"
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(events[1]["object"]["metadata"]["resourceVersion"]) > 0


def test_a_finalizer_makes_two_events_of_a_deletion(api: Api) -> None:
    made = api.post("configmaps", {"metadata": {"name": "a", "finalizers": ["x.io/hold"]}})
    api.delete("configmaps/a")
    api.merge("configmaps/a", {"metadata": {"finalizers": None}})

    events = _take(api, 2, resourceVersion=made.meta["resourceVersion"])

    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]
    assert "deletionTimestamp" in events[0]["object"]["metadata"]


def test_a_change_that_changes_nothing_is_no_event(api: Api) -> None:
    made = api.post("configmaps", config("a", x="1"))
    api.merge("configmaps/a", {"data": {"x": "1"}})
    api.post("configmaps", config("b"))

    (event,) = _take(api, 1, resourceVersion=made.meta["resourceVersion"])

    assert _told([event]) == [("ADDED", "b")]


def test_a_dry_run_is_no_event(api: Api) -> None:
    version = _version(api)
    api.post("configmaps", config("dry"), dryRun="All")
    api.post("configmaps", config("b"))

    assert _told(_take(api, 1, resourceVersion=version)) == [("ADDED", "b")]


def test_a_watch_ends_after_its_timeout(api: Api) -> None:
    assert list(api.watch("secrets", resourceVersion=_version(api, "secrets"), timeoutSeconds=1)) == []


def test_a_watch_as_partial_metadata(api: Api) -> None:
    made = api.post("configmaps", config("a", x="1"))
    partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    answer = api.call("GET", "configmaps/a", accept=partial)

    assert answer.body["kind"] == "PartialObjectMetadata"
    assert "data" not in answer.body
    assert answer.meta["uid"] == made.meta["uid"]


def test_a_running_watch_tells_by_bookmark_how_far_it_came(api: Api) -> None:
    """Before it ends, and of changes that it does not tell; a real server is silent where there was none."""
    elsewhere = "/apis/contract.muster.dev/v1/namespaces/default/widgets"
    version = _version(api, "widgets/widgets")
    api.post("widgets/widgets", widget())
    query = {"allowWatchBookmarks": "true", "resourceVersion": version, "timeoutSeconds": "5"}

    events = api.watch("widgets/widgets", seconds=15, **query)

    assert _told([next(events)]) == [("ADDED", "w")]
    last = api.post(elsewhere, widget(api.ns)).meta["resourceVersion"]
    mark = next(events)
    assert mark["type"] == "BOOKMARK"
    assert (mark["object"]["kind"], mark["object"]["apiVersion"]) == ("Widget", "contract.muster.dev/v1")
    assert int(mark["object"]["metadata"]["resourceVersion"]) >= int(last)
    events.close()
    api.delete(f"{elsewhere}/{api.ns}")


def test_without_being_asked_for_there_are_no_bookmarks(api: Api) -> None:
    query = {"resourceVersion": _version(api, "widgets/widgets"), "timeoutSeconds": "4"}

    assert list(api.watch("widgets/widgets", seconds=15, **query)) == []
