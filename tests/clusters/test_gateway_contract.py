"""What every gateway keeps: the in-memory one, and the one over HTTP to the simulated and to a real API server."""

from collections.abc import Iterator
from typing import Any

import pytest

from clusters.kinds import CONFIG_MAP, KAI_TOPOLOGY, NAMESPACE, NODE, SECRET
from clusters.kube import errors
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.kube.fake import FakeGateway
from clusters.kube.gateway import Gateway
from tests.clusters.manifests import config_map, namespace
from tests.contract import servers
from tests.contract.client import Api


@pytest.fixture(scope="module")
def real_api() -> Iterator[Api]:
    with servers.real(crds=False) as (api, _):
        yield api


@pytest.fixture
def real_kube(real_api: Api) -> Iterator[KubeGateway]:
    """A gateway to a real server on which nothing of an earlier test is left."""
    for space in ("team-a", "team-b"):
        for item in real_api.get(f"/api/v1/namespaces/{space}/configmaps").body["items"]:
            path = f"/api/v1/namespaces/{space}/configmaps/{item['metadata']['name']}"
            real_api.merge(path, {"metadata": {"finalizers": None}})
            real_api.delete(path)
    timeouts = Timeouts(connect=2.0, read=5.0, watch=1, watch_read=4.0)
    made = KubeGateway(
        Connection(
            name="real",
            server=real_api.url,
            token=real_api.token,
            certificate_authority=real_api.authority,
            timeouts=timeouts,
        )
    )
    yield made
    made.close()


@pytest.fixture(params=["memory", "http", pytest.param("real", marks=pytest.mark.cluster)])
def gateway(request: pytest.FixtureRequest) -> Any:
    if request.param == "real":
        made: Gateway = request.getfixturevalue("real_kube")
    elif request.param == "memory":
        fake = FakeGateway()
        fake.serve(KAI_TOPOLOGY, [])
        made = fake
    else:
        made = request.getfixturevalue("kube")
    made.apply(NAMESPACE, namespace())
    return made


def test_an_absent_object_is_none(gateway: Gateway) -> None:
    assert gateway.get(CONFIG_MAP, "settings", "team-a") is None
    assert gateway.get(CONFIG_MAP, "settings", "no-such-namespace") is None


def test_apply_creates_and_get_reads(gateway: Gateway) -> None:
    applied = gateway.apply(CONFIG_MAP, config_map(a="1"))

    live = gateway.get(CONFIG_MAP, "settings", "team-a")
    assert live is not None
    assert live["data"] == {"a": "1"}
    assert (live["apiVersion"], live["kind"]) == ("v1", "ConfigMap")
    assert live["metadata"]["uid"] == applied["metadata"]["uid"]


def test_applying_the_same_again_changes_nothing(gateway: Gateway) -> None:
    first = gateway.apply(CONFIG_MAP, config_map(a="1"))
    second = gateway.apply(CONFIG_MAP, config_map(a="1"))

    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


def test_a_field_that_is_left_out_goes(gateway: Gateway) -> None:
    gateway.apply(CONFIG_MAP, config_map(a="1", b="2"))

    assert gateway.apply(CONFIG_MAP, config_map(a="3"))["data"] == {"a": "3"}


def test_our_fields_are_named_in_managed_fields(gateway: Gateway) -> None:
    live = gateway.apply(CONFIG_MAP, config_map(a="1"))

    (ours,) = [entry for entry in live["metadata"]["managedFields"] if entry["manager"] == "muster"]
    assert ours["operation"] == "Apply"
    assert ours["fieldsV1"]["f:data"] == {"f:a": {}} or ours["fieldsV1"]["f:data"] == {".": {}, "f:a": {}}


def test_a_dry_run_answers_and_writes_nothing(gateway: Gateway) -> None:
    answer = gateway.apply(CONFIG_MAP, config_map(a="1"), dry_run=True)

    assert answer["data"] == {"a": "1"}
    assert gateway.get(CONFIG_MAP, "settings", "team-a") is None


def test_a_write_into_a_missing_namespace_says_so_and_may_be_repeated(gateway: Gateway) -> None:
    with pytest.raises(errors.NamespaceMissing) as caught:
        gateway.apply(CONFIG_MAP, config_map(namespace="nowhere"))

    assert caught.value.retryable
    assert "nowhere" in caught.value.message


def test_a_kind_that_is_not_served_is_no_empty_list(gateway: Gateway) -> None:
    for call in (lambda: gateway.list(KAI_TOPOLOGY), lambda: gateway.get(KAI_TOPOLOGY, "x")):
        with pytest.raises(errors.NotServed):
            call()
    assert list(gateway.served_versions(KAI_TOPOLOGY)) == []


def test_a_served_kind_says_its_versions(gateway: Gateway) -> None:
    assert list(gateway.served_versions(NODE)) == ["v1"]
    assert gateway.served_resources()[""]["pods"] == ["v1"]
    assert gateway.server_version().startswith("v1.")


def test_lists_are_by_namespace_and_label(gateway: Gateway) -> None:
    gateway.apply(NAMESPACE, namespace("team-b"))
    for name, space, labels in (("a", "team-a", {"x": "1"}), ("b", "team-a", {"x": "2"}), ("c", "team-b", {"x": "1"})):
        manifest = config_map(name, space)
        manifest["metadata"]["labels"] = labels
        gateway.apply(CONFIG_MAP, manifest)

    def names(space: str | None = None, selector: str = "") -> list[str]:
        found = gateway.list(CONFIG_MAP, space, label_selector=selector)
        assert all((item["apiVersion"], item["kind"]) == ("v1", "ConfigMap") for item in found)
        return sorted(item["metadata"]["name"] for item in found)

    assert {"a", "b", "c"} <= set(names())
    assert names("team-b", "x") == ["c"]
    assert names(None, "x=1") == ["a", "c"]
    assert names("team-a", "x!=1,x") == ["b"]
    assert names(None, "x in (1,2)") == ["a", "b", "c"]
    assert names("nowhere") == []


def test_delete_says_whether_it_was_there_and_heeds_the_uid(gateway: Gateway) -> None:
    uid = gateway.apply(CONFIG_MAP, config_map(a="1"))["metadata"]["uid"]

    with pytest.raises(errors.AlreadyChanged):
        gateway.delete(CONFIG_MAP, "settings", "team-a", uid="another")
    assert gateway.delete(CONFIG_MAP, "settings", "team-a", uid=uid)
    assert not gateway.delete(CONFIG_MAP, "settings", "team-a")


def test_an_apply_that_names_a_uid_creates_nothing(gateway: Gateway) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gone", "uid": "u-1", "labels": {"a": "b"}}}

    with pytest.raises(errors.AlreadyChanged):
        gateway.apply(NODE, node)
    assert gateway.get(NODE, "gone") is None


def test_an_apply_that_names_another_uid_is_refused_for_good(gateway: Gateway) -> None:
    gateway.apply(CONFIG_MAP, config_map(a="1"))
    manifest = config_map(a="2")
    manifest["metadata"]["uid"] = "another"

    with pytest.raises(errors.Rejected) as caught:
        gateway.apply(CONFIG_MAP, manifest)

    assert caught.value.status == 422
    assert 'metadata.uid: Invalid value: "another": field is immutable' in caught.value.message
    live = gateway.get(CONFIG_MAP, "settings", "team-a")
    assert live is not None
    assert live["data"] == {"a": "1"}


def test_an_object_of_another_kind_is_refused(gateway: Gateway) -> None:
    with pytest.raises(errors.Rejected):
        gateway.apply(SECRET, config_map())


def test_finalizers_hold_an_object_until_they_are_taken_off(gateway: Gateway) -> None:
    manifest = config_map(a="1")
    manifest["metadata"]["finalizers"] = ["example.org/hold"]
    gateway.apply(CONFIG_MAP, manifest)

    assert gateway.delete(CONFIG_MAP, "settings", "team-a")

    live = gateway.get(CONFIG_MAP, "settings", "team-a")
    assert live is not None
    assert "deletionTimestamp" in live["metadata"]


def test_a_permission_can_be_asked_for(gateway: Gateway) -> None:
    assert gateway.may("list", "", "pods")
    assert gateway.may("get", "", "pods/log")
