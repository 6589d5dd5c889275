"""What every gateway keeps: the one of unit tests, and the product's to the simulator and to a real server."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import pytest

from clusters.kinds import CONFIG_MAP, NAMESPACE, NODE, SECRET, Kind
from clusters.kube import errors
from clusters.kube.client import ItemList, KubeGateway, WatchEvent
from tests.clusters.manifests import config_map, namespace
from tests.contract import gateways
from tests.contract.conftest import SERVERS
from tests.contract.gateways import Side

THING = Kind("nobody.example", "v1", "Thing", "things", namespaced=False)
SIDES = [pytest.param("memory"), *SERVERS]
SCENARIOS = [
    pytest.param(side.values[0], *one, marks=side.marks, id=f"{side.values[0]}: {': '.join(one)}")
    for side in SIDES
    for one in gateways.scenarios(str(side.values[0]))
]


@pytest.fixture
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    name = request.param
    if name == "memory":
        yield gateways.in_memory()
    else:
        with gateways.over_http(request.getfixturevalue(f"{name}_api")) as made:
            yield made


every_side = pytest.mark.parametrize("side", SIDES, indirect=True)
over_http = pytest.mark.parametrize("side", SERVERS, indirect=True)


@pytest.mark.parametrize(("side", "subject", "name"), SCENARIOS, indirect=["side"])
def test_the_recorded_answers_are_a_gateways_too(side: Side, subject: str, name: str) -> None:
    for title, found, meant in gateways.play(side, gateways.scenario(side.name, subject, name)):
        assert found == meant, title


@pytest.mark.parametrize(("side", "least"), [("memory", 75), ("simulator", 115), ("real", 115)])
def test_that_many_recorded_requests_are_asked_of_a_gateway(side: str, least: int) -> None:
    asked = [
        step
        for subject, name in gateways.scenarios(side)
        for step, _ in gateways.scenario(side, subject, name)
        if gateways.is_asked(step)
    ]
    assert len(asked) >= least


def settings(side: Side, **data: str) -> dict[str, Any]:
    """A config map of the test's namespace."""
    return config_map("settings", side.ns, **data)


@every_side
def test_an_absent_object_is_none(side: Side) -> None:
    assert side.gateway.get(CONFIG_MAP, "settings", side.ns) is None
    assert side.gateway.get(CONFIG_MAP, "settings", "no-such-namespace") is None


@every_side
def test_apply_creates_and_get_reads(side: Side) -> None:
    applied = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))

    live = side.gateway.get(CONFIG_MAP, "settings", side.ns)
    assert live is not None
    assert live["data"] == {"a": "1"}
    assert (live["apiVersion"], live["kind"]) == ("v1", "ConfigMap")
    assert live["metadata"]["uid"] == applied["metadata"]["uid"]


@every_side
def test_applying_the_same_again_changes_nothing(side: Side) -> None:
    first = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))
    second = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))

    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


@every_side
def test_a_field_that_is_left_out_goes(side: Side) -> None:
    side.gateway.apply(CONFIG_MAP, settings(side, a="1", b="2"))

    assert side.gateway.apply(CONFIG_MAP, settings(side, a="3"))["data"] == {"a": "3"}


@every_side
def test_what_is_owned_alone_goes_when_it_is_left_out(side: Side) -> None:
    """What somebody else applied and we too stays when we leave it out; owned alone, it goes."""
    side.gateway.apply(CONFIG_MAP, settings(side, a="1", b="2"), manager="helm")
    side.gateway.apply(CONFIG_MAP, settings(side, a="1", b="2"))
    live = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))
    assert live["data"] == {"a": "1", "b": "2"}

    side.gateway.apply(CONFIG_MAP, settings(side, a="1", b="2"))
    live = side.gateway.get(CONFIG_MAP, "settings", side.ns)
    assert live is not None
    owned = side.gateway.own_alone(CONFIG_MAP, live, "data")
    assert owned["data"] == live["data"]
    assert [entry["manager"] for entry in owned["metadata"]["managedFields"]] == ["muster"]
    assert side.gateway.apply(CONFIG_MAP, settings(side, a="1"))["data"] == {"a": "1"}
    with pytest.raises(errors.AlreadyChanged):
        side.gateway.own_alone(CONFIG_MAP, live, "data")


@every_side
def test_our_fields_are_named_in_managed_fields(side: Side) -> None:
    live = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))

    (ours,) = [entry for entry in live["metadata"]["managedFields"] if entry["manager"] == "muster"]
    assert ours["operation"] == "Apply"
    assert ours["fieldsV1"]["f:data"] == {"f:a": {}} or ours["fieldsV1"]["f:data"] == {".": {}, "f:a": {}}


@every_side
def test_a_dry_run_answers_and_writes_nothing(side: Side) -> None:
    answer = side.gateway.apply(CONFIG_MAP, settings(side, a="1"), dry_run=True)

    assert answer["data"] == {"a": "1"}
    assert side.gateway.get(CONFIG_MAP, "settings", side.ns) is None


@every_side
def test_a_write_into_a_missing_namespace_says_so_and_may_be_repeated(side: Side) -> None:
    with pytest.raises(errors.NamespaceMissing) as caught:
        side.gateway.apply(CONFIG_MAP, config_map(namespace="nowhere"))

    assert caught.value.retryable
    assert "nowhere" in caught.value.message


@every_side
def test_a_kind_that_is_not_served_is_no_empty_list(side: Side) -> None:
    for call in (lambda: side.gateway.list(THING), lambda: side.gateway.get(THING, "x")):
        with pytest.raises(errors.NotServed):
            call()
    assert list(side.gateway.served_versions(THING)) == []


@every_side
def test_a_served_kind_says_its_versions(side: Side) -> None:
    assert list(side.gateway.served_versions(NODE)) == ["v1"]
    assert side.gateway.served_resources()[""]["pods"] == ["v1"]
    assert side.gateway.server_version().startswith("v1.")


@every_side
def test_lists_are_by_namespace_and_label(side: Side) -> None:
    other = f"{side.ns}-other"
    side.gateway.apply(NAMESPACE, namespace(other))
    for name, space, value in (("a", side.ns, "1"), ("b", side.ns, "2"), ("c", other, "1")):
        manifest = config_map(name, space)
        manifest["metadata"]["labels"] = {f"{side.ns}/x": value}
        side.gateway.apply(CONFIG_MAP, manifest)

    def names(space: str | None = None, selector: str = "") -> list[str]:
        found = side.gateway.list(CONFIG_MAP, space, label_selector=selector.replace("x", f"{side.ns}/x"))
        assert all((item["apiVersion"], item["kind"]) == ("v1", "ConfigMap") for item in found)
        return sorted(item["metadata"]["name"] for item in found)

    assert {"a", "b", "c"} <= set(names())
    assert names(other, "x") == ["c"]
    assert names(None, "x=1") == ["a", "c"]
    assert names(side.ns, "x!=1,x") == ["b"]
    assert names(None, "x in (1,2)") == ["a", "b", "c"]
    assert names("nowhere") == []
    assert side.gateway.delete(NAMESPACE, other)


@every_side
def test_delete_says_whether_it_was_there_and_heeds_the_uid(side: Side) -> None:
    uid = side.gateway.apply(CONFIG_MAP, settings(side, a="1"))["metadata"]["uid"]

    with pytest.raises(errors.AlreadyChanged):
        side.gateway.delete(CONFIG_MAP, "settings", side.ns, uid="another")
    assert side.gateway.delete(CONFIG_MAP, "settings", side.ns, uid=uid)
    assert not side.gateway.delete(CONFIG_MAP, "settings", side.ns)


@every_side
def test_an_apply_that_names_a_uid_creates_nothing(side: Side) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gone", "uid": "u-1", "labels": {"a": "b"}}}

    with pytest.raises(errors.AlreadyChanged):
        side.gateway.apply(NODE, node)
    assert side.gateway.get(NODE, "gone") is None


@every_side
def test_an_apply_that_names_another_uid_is_refused_for_good(side: Side) -> None:
    side.gateway.apply(CONFIG_MAP, settings(side, a="1"))
    manifest = settings(side, a="2")
    manifest["metadata"]["uid"] = "another"

    with pytest.raises(errors.Rejected) as caught:
        side.gateway.apply(CONFIG_MAP, manifest)

    assert caught.value.status == 422
    assert 'metadata.uid: Invalid value: "another": field is immutable' in caught.value.message
    live = side.gateway.get(CONFIG_MAP, "settings", side.ns)
    assert live is not None
    assert live["data"] == {"a": "1"}


@every_side
def test_an_object_of_another_kind_is_refused(side: Side) -> None:
    with pytest.raises(errors.Rejected):
        side.gateway.apply(SECRET, settings(side))


@every_side
def test_finalizers_hold_an_object_until_they_are_taken_off(side: Side) -> None:
    manifest = settings(side, a="1")
    manifest["metadata"]["finalizers"] = ["example.org/hold"]
    side.gateway.apply(CONFIG_MAP, manifest)

    assert side.gateway.delete(CONFIG_MAP, "settings", side.ns)

    live = side.gateway.get(CONFIG_MAP, "settings", side.ns)
    assert live is not None
    assert "deletionTimestamp" in live["metadata"]


@every_side
def test_a_permission_can_be_asked_for(side: Side) -> None:
    assert side.gateway.may("list", "", "pods")
    assert side.gateway.may("get", "", "pods/log")


def told(events: Iterator[WatchEvent], count: int) -> list[tuple[str, str]]:
    """The first events that are no bookmarks."""
    changes = (event for event in events if event.type != "BOOKMARK")
    return [(event.type, msgspec.json.decode(event.raw)["metadata"]["name"]) for event in islice(changes, count)]


@over_http
def test_a_stream_goes_on_where_the_pages_end(side: Side) -> None:
    assert isinstance(side.gateway, KubeGateway)
    side.gateway.apply(CONFIG_MAP, settings(side, a="1"))
    path = CONFIG_MAP.path(side.ns)
    pages = list(side.gateway.iter_pages(path, msgspec.json.Decoder(ItemList[dict[str, Any]]).decode))
    side.gateway.apply(CONFIG_MAP, settings(side, a="2"))
    side.gateway.delete(CONFIG_MAP, "settings", side.ns)

    events = told(side.gateway.watch(path, pages[-1].resource_version), 2)

    assert "settings" in [item["metadata"]["name"] for page in pages for item in page.items]
    assert events == [("MODIFIED", "settings"), ("DELETED", "settings")]


@over_http
def test_a_stream_heeds_a_selector_and_ends_by_itself(side: Side) -> None:
    assert isinstance(side.gateway, KubeGateway)
    version = side.gateway.apply(CONFIG_MAP, settings(side))["metadata"]["resourceVersion"]
    labelled = settings(side)
    labelled["metadata"] |= {"name": "labelled", "labels": {"app": "web"}}
    side.gateway.apply(CONFIG_MAP, labelled)

    events = told(side.gateway.watch(CONFIG_MAP.path(side.ns), version, query={"labelSelector": "app=web"}), 9)

    assert events == [("ADDED", "labelled")]


@over_http
def test_a_stream_of_what_is_not_served_is_no_empty_one(side: Side) -> None:
    assert isinstance(side.gateway, KubeGateway)
    with pytest.raises(errors.NotServed):
        list(side.gateway.watch(THING.path(), "1"))


@over_http
def test_a_stream_from_a_version_that_is_forgotten_says_so(side: Side) -> None:
    assert isinstance(side.gateway, KubeGateway)
    side.forget()

    with pytest.raises(errors.Gone):
        list(side.gateway.watch(gateways.WIDGET.path(side.ns), "1"))
