"""The official Python client against both servers: typed, custom and dynamic."""

from collections.abc import Iterator
from typing import Any

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from tests.contract.client import Api
from tests.contract.steps import config, labelled, pod, widget

GROUP = {"group": "contract.muster.dev", "version": "v1", "plural": "widgets"}


@pytest.fixture
def client(api: Api) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(api.kubeconfig)) as made:
        yield made


def test_typed_objects_are_made_read_changed_and_deleted(api: Api, client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    made = core.create_namespaced_config_map(api.ns, config("a", x="1"))
    assert made.data == {"x": "1"}
    changed = core.patch_namespaced_config_map("a", api.ns, {"data": {"y": "2"}})
    assert changed.data == {"x": "1", "y": "2"}
    changed.data["z"] = "3"
    assert core.replace_namespaced_config_map("a", api.ns, changed).data == {"x": "1", "y": "2", "z": "3"}
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("a", api.ns, changed)
    assert stale.value.status == 409
    core.delete_namespaced_config_map("a", api.ns)
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("a", api.ns)
    assert gone.value.status == 404


def test_a_pod_comes_with_what_the_server_filled_in_and_goes_with_its_last_state(api: Api, client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    made = core.create_namespaced_pod(api.ns, pod())
    assert (made.spec.restart_policy, made.status.phase) == ("Always", "Pending")
    assert [one.metadata.name for one in core.list_namespaced_pod(api.ns).items] == ["p"]
    gone = core.delete_namespaced_pod("p", api.ns, grace_period_seconds=0)
    assert gone.metadata.name == "p"


def test_long_lists_in_pages(api: Api, client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    for name in "abcde":
        api.post("configmaps", labelled(name, of="pages"))
    seen: list[str] = []
    token = None
    while token != "":
        page = core.list_namespaced_config_map(api.ns, limit=2, label_selector="of=pages", _continue=token)
        seen += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert seen == list("abcde")


def test_a_watch_tells_changes(api: Api, client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    version = core.list_namespaced_config_map(api.ns).metadata.resource_version
    api.post("configmaps", config("a"))
    api.delete("configmaps/a")
    watch = kubernetes.watch.Watch()
    told = []
    for event in watch.stream(core.list_namespaced_config_map, api.ns, resource_version=version, timeout_seconds=20):
        told.append((event["type"], event["object"].metadata.name))
        if len(told) == 2:
            watch.stop()
    assert told == [("ADDED", "a"), ("DELETED", "a")]


def test_custom_objects_with_status_and_scale(api: Api, client: Any) -> None:
    custom = kubernetes.client.CustomObjectsApi(client)
    custom.create_namespaced_custom_object(**GROUP, namespace=api.ns, body=widget())
    named = {**GROUP, "namespace": api.ns, "name": "w"}
    custom.patch_namespaced_custom_object(**named, body={"spec": {"replicas": 3}})
    custom.patch_namespaced_custom_object_status(**named, body={"status": {"phase": "Ready"}})
    assert custom.get_namespaced_custom_object_scale(**named)["spec"]["replicas"] == 3
    live = custom.get_namespaced_custom_object(**named)
    assert (live["spec"]["replicas"], live["status"]["phase"]) == (3, "Ready")
    assert len(custom.list_namespaced_custom_object(**GROUP, namespace=api.ns)["items"]) == 1
    with pytest.raises(ApiException) as refused:
        custom.patch_namespaced_custom_object(**named, body={"spec": {"colour": "pink"}})
    assert refused.value.status == 422
    assert custom.delete_namespaced_custom_object(**named)["status"] == "Success"


def test_the_dynamic_client_discovers_and_applies(api: Api, client: Any, tmp_path: Any) -> None:
    dynamic = DynamicClient(client, cache_file=str(tmp_path / "discovery"))
    widgets = dynamic.resources.get(api_version="contract.muster.dev/v1", kind="Widget")
    body = widget(replicas=4)
    applied = widgets.server_side_apply(body=body, name="w", namespace=api.ns, field_manager="dynamic")
    assert applied.spec.replicas == 4
    assert applied.metadata.managedFields[0].manager == "dynamic"
    assert [one.metadata.name for one in widgets.get(namespace=api.ns).items] == ["w"]
