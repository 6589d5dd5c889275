"""Lists: pages at one version, versions of the past and future, selectors."""

import json

import pytest

from clusters.kinds import CONFIG_MAP, EVENT, NODE, POD, Kind
from simulator.api.store import Entry
from simulator.api.versions import encoded_item
from tests.simulator.api.conftest import Verbs, pod


def fill(verbs: Verbs, count: int) -> None:
    for number in range(count):
        verbs.create(CONFIG_MAP, {"metadata": {"name": f"c{number:03}"}}, "default")


def test_pages_come_from_the_version_of_the_first_page(verbs: Verbs) -> None:
    fill(verbs, 5)
    first = verbs.page(CONFIG_MAP, "default", limit=2)
    verbs.delete(CONFIG_MAP, "c003", "default")
    verbs.create(CONFIG_MAP, {"metadata": {"name": "c0025"}}, "default")
    verbs.patch(CONFIG_MAP, "c004", {"data": {"a": "late"}}, "default")

    second = verbs.page(CONFIG_MAP, "default", limit=2, continue_token=first.continue_token)
    third = verbs.page(CONFIG_MAP, "default", limit=2, continue_token=second.continue_token)

    assert [entry.key[1] for entry in first.entries] == ["c000", "c001"]
    assert [entry.key[1] for entry in second.entries] == ["c002", "c003"]
    assert [entry.key[1] for entry in third.entries] == ["c004", "kube-root-ca.crt"]
    assert "data" not in third.entries[0].object
    assert first.resource_version == second.resource_version == third.resource_version
    assert (first.remaining, second.remaining, third.remaining) == (4, 2, None)
    assert third.continue_token == ""


def test_a_page_is_never_followed_by_an_empty_one(verbs: Verbs) -> None:
    fill(verbs, 3)
    page = verbs.page(CONFIG_MAP, "default", limit=4)

    assert len(page.entries) == 4
    assert page.continue_token == ""


def test_a_token_whose_history_is_gone_is_410_and_offers_a_token_for_the_rest(verbs: Verbs) -> None:
    fill(verbs, 5)
    token = verbs.page(CONFIG_MAP, "default", limit=2).continue_token
    verbs.create(CONFIG_MAP, {"metadata": {"name": "later"}}, "default")
    verbs.server.store.collection(("", "configmaps")).compact()

    error = verbs.refused(verbs.page, CONFIG_MAP, "default", limit=2, continue_token=token)

    assert (error.code, error.reason) == (410, "Expired")
    assert error.message.startswith("The provided continue parameter is too old to display a consistent list result.")
    rest = verbs.page(CONFIG_MAP, "default", continue_token=error.status()["metadata"]["continue"])
    assert [entry.key[1] for entry in rest.entries] == ["c002", "c003", "c004", "kube-root-ca.crt", "later"]


def test_an_exact_version_shows_the_past(verbs: Verbs) -> None:
    fill(verbs, 2)
    then = verbs.page(CONFIG_MAP, "default").resource_version
    verbs.delete(CONFIG_MAP, "c000", "default")

    past = verbs.names(CONFIG_MAP, "default", resource_version=then, resource_version_match="Exact")
    now = verbs.names(CONFIG_MAP, "default", resource_version=then, resource_version_match="NotOlderThan")

    assert past == ["c000", "c001", "kube-root-ca.crt"]
    assert now == ["c001", "kube-root-ca.crt"]


def test_a_version_of_the_future_is_a_timeout(verbs: Verbs) -> None:
    error = verbs.refused(verbs.page, CONFIG_MAP, resource_version="99999999")

    assert (error.code, error.reason) == (504, "Timeout")
    assert error.message.startswith("Timeout: Too large resource version: 99999999, current: ")


def test_a_broken_continue_token_is_400(verbs: Verbs) -> None:
    assert verbs.refused(verbs.page, CONFIG_MAP, continue_token="!!!").code == 400


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=a", ["p1"]),
        ("app==a", ["p1"]),
        ("app!=a", ["p2", "p3"]),
        ("app in (a,b)", ["p1", "p2"]),
        ("app notin (a)", ["p2", "p3"]),
        ("app", ["p1", "p2"]),
        ("!app", ["p3"]),
        ("app,tier=x", ["p2"]),
        ("size>3", ["p2"]),
        ("size<3", ["p1"]),
        ("a.example/key-1=v_1", ["p3"]),
        ("app=", []),
    ],
)
def test_label_selectors(verbs: Verbs, selector: str, expected: list[str]) -> None:
    verbs.create(POD, pod("p1", labels={"app": "a", "size": "1"}), "default")
    verbs.create(POD, pod("p2", labels={"app": "b", "tier": "x", "size": "5"}), "default")
    verbs.create(POD, pod("p3", labels={"a.example/key-1": "v_1"}), "default")

    assert verbs.names(POD, "default", label_selector=selector) == expected


@pytest.mark.parametrize("selector", ["app in a", "=a", "app in (a", "a b"])
def test_a_label_selector_that_cannot_be_read_is_400(verbs: Verbs, selector: str) -> None:
    assert verbs.refused(verbs.page, POD, label_selector=selector).code == 400


def test_field_selectors(verbs: Verbs) -> None:
    verbs.create(POD, pod("p1", nodeName="n1"), "default")
    verbs.create(POD, pod("p2"), "default")
    verbs.create(NODE, {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}})

    assert verbs.names(POD, field_selector="spec.nodeName=n1,status.phase=Pending") == ["p1"]
    assert verbs.names(POD, field_selector="spec.nodeName!=n1") == ["p2"]
    assert verbs.names(POD, field_selector="metadata.name=p2,metadata.namespace=default") == ["p2"]
    assert verbs.names(NODE, field_selector="spec.unschedulable=true") == ["n1"]


def test_a_field_that_cannot_be_selected_is_400_in_kubes_words(verbs: Verbs) -> None:
    error = verbs.refused(verbs.page, POD, field_selector="spec.queue=x")

    assert (error.code, error.message) == (400, "field label not supported: spec.queue")


def test_objects_come_in_etcds_order(verbs: Verbs) -> None:
    for name in ("n10", "n2", "n1"):
        verbs.create(NODE, {"metadata": {"name": name}})

    assert verbs.names(NODE) == ["n1", "n10", "n2"]


def test_events_are_one_collection_under_two_groups(verbs: Verbs) -> None:
    newer = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
    involved = {"kind": "Pod", "namespace": "default", "name": "p"}
    body = {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "Evict", "message": "m", "type": "Normal"}
    verbs.create(EVENT, body, "default")
    seen = verbs.get(newer, "e", "default")

    assert seen is not None
    assert (seen["apiVersion"], seen["regarding"], seen["note"]) == ("events.k8s.io/v1", involved, "m")
    assert verbs.names(EVENT, field_selector="involvedObject.name=p,reason=Evict") == ["e"]
    verbs.create(newer, {"metadata": {"name": "f"}, "regarding": involved, "note": "n"}, "default")
    back = verbs.get(EVENT, "f", "default")
    assert back is not None
    assert back["message"] == "n"


@pytest.mark.parametrize("kind", [EVENT, CONFIG_MAP, POD, NODE])
def test_a_list_is_json_whether_or_not_its_objects_were_written_to_disk_before(verbs: Verbs, kind: Kind) -> None:
    """Items of the core's kinds leave out their kind and version, by the bytes that stand before the rest."""
    at = "2026-11-30T00:00:00Z"  # the server writes it first
    bodies = {
        EVENT: {"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}, "firstTimestamp": at},
        CONFIG_MAP: {"metadata": {"name": "a"}},
        POD: pod("a"),
        NODE: {"metadata": {"name": "a"}},
    }
    space = "default" if kind.namespaced else None
    verbs.create(kind, {"metadata": {}, **bodies[kind], "apiVersion": "v1", "kind": kind.kind}, space)
    resource = verbs.target(kind, space).resource
    entries = [Entry(each.key, each.object, each.resource_version) for each in verbs.page(kind, space).entries]
    for entry in entries:
        entry.stored_json()

    items = [json.loads(encoded_item(resource, entry)) for entry in entries]

    assert "a" in [item["metadata"]["name"] for item in items]
    assert not any({"kind", "apiVersion"} & item.keys() for item in items)
