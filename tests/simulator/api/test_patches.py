"""Merge, strategic merge and JSON patches, binding and scale."""

from typing import Any

import pytest

from clusters.kinds import DEPLOYMENT, GROVE_POD_CLIQUE_SET, KAI_QUEUE, NODE, POD
from simulator.api import scaling
from simulator.api.core_kinds import core_schema
from simulator.api.patching import JSON_PATCH, STRATEGIC_PATCH, merge_patch, strategic_merge
from simulator.api.requests import WriteOptions
from tests.simulator.api.conftest import Verbs, done, pod


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [  # the examples of RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def strategic(target: Any, patch: Any, model: str = "V1PodSpec") -> Any:
    return strategic_merge(core_schema(model), target, patch)


def test_strategic_lists_merge_by_key() -> None:
    target = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    patch = {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}

    assert strategic(target, patch)["containers"] == [
        {"name": "a", "image": "1"},
        {"name": "b", "image": "2"},
        {"name": "c", "image": "3"},
    ]


def test_strategic_directives() -> None:
    target = {"containers": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"x": "1", "y": "2"}}

    deleted = strategic(target, {"containers": [{"name": "a", "$patch": "delete"}]})
    replaced = strategic(target, {"nodeSelector": {"$patch": "replace", "z": "3"}})
    ordered = strategic(target, {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": []})
    retained = strategic(target, {"nodeSelector": {"$retainKeys": ["x"], "x": "9"}})

    assert deleted["containers"] == [{"name": "b"}]
    assert replaced["nodeSelector"] == {"z": "3"}
    assert [item["name"] for item in ordered["containers"]] == ["b", "a"]
    assert retained["nodeSelector"] == {"x": "9"}


def test_strategic_finalizers_join_and_leave() -> None:
    target = {"finalizers": ["a", "b"]}

    assert strategic(target, {"finalizers": ["c"]}, "V1ObjectMeta")["finalizers"] == ["c", "a", "b"]
    left = strategic(target, {"$deleteFromPrimitiveList/finalizers": ["a"]}, "V1ObjectMeta")
    assert left["finalizers"] == ["b"]


def test_conditions_of_a_node_merge_by_type(verbs: Verbs) -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]
    verbs.create(NODE, {"metadata": {"name": "n"}, "status": {"conditions": conditions}})
    patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    changed = verbs.patch(NODE, "n", patch, patch_type=STRATEGIC_PATCH, subresource="status")

    assert {item["type"]: item["status"] for item in changed["status"]["conditions"]} == {
        "Ready": "Unknown",
        "DiskPressure": "False",
    }


def test_custom_resources_take_no_strategic_patch(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": {"resources": {}}})
    error = verbs.refused(verbs.patch, KAI_QUEUE, "q", {}, patch_type=STRATEGIC_PATCH)

    assert error.code == 415
    assert error.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_json_patch_applies_all_steps_or_none(verbs: Verbs) -> None:
    verbs.create(NODE, {"metadata": {"name": "n", "labels": {"a": "1"}}})
    good = [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
        {"op": "add", "path": "/metadata/labels/x.example~1y", "value": "3"},
    ]
    changed = verbs.patch(NODE, "n", good, patch_type=JSON_PATCH)
    error = verbs.refused(verbs.patch, NODE, "n", good, patch_type=JSON_PATCH)

    assert changed["metadata"]["labels"] == {"a": "2", "x.example/y": "3"}
    assert error.code == 422
    assert error.message == "the server rejected our request due to an error in our request"


def test_a_json_patch_of_a_path_that_is_not_there_is_422(verbs: Verbs) -> None:
    verbs.create(NODE, {"metadata": {"name": "n"}})
    step = [{"op": "remove", "path": "/metadata/labels/a"}]

    assert verbs.refused(verbs.patch, NODE, "n", step, patch_type=JSON_PATCH).code == 422


def test_a_patch_with_a_stale_version_is_409(verbs: Verbs) -> None:
    verbs.create(NODE, {"metadata": {"name": "n"}})

    assert verbs.refused(verbs.patch, NODE, "n", {"metadata": {"resourceVersion": "1"}}).code == 409


def test_a_pod_is_bound_once(verbs: Verbs) -> None:
    verbs.create(POD, pod("gang-0"), "default")
    done(verbs.client.bind("default", "gang-0", "gpu-z1-r1-n1"))
    bound = verbs.get(POD, "gang-0", "default")
    error = verbs.refused(done, verbs.client.bind("default", "gang-0", "elsewhere"))

    assert bound is not None
    assert bound["spec"]["nodeName"] == "gpu-z1-r1-n1"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    assert error.code == 409
    assert error.message.endswith('pod gang-0 is already assigned to node "gpu-z1-r1-n1"')


def test_a_gated_pod_cannot_be_bound(verbs: Verbs) -> None:
    verbs.create(POD, pod("p", schedulingGates=[{"name": "g"}]), "default")

    assert verbs.refused(done, verbs.client.bind("default", "p", "n")).code == 400


def test_scale_reads_and_writes_replicas(verbs: Verbs) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    verbs.create(DEPLOYMENT, {"metadata": {"name": "d"}, "spec": spec}, "default")
    target = verbs.target(DEPLOYMENT, "default", "d", "scale")

    before = scaling.scale_of(verbs.server, target)
    after = scaling.set_scale(verbs.server, target, {"spec": {"replicas": 5}}, WriteOptions())

    assert (before["spec"], before["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "a=b"})
    assert after["spec"] == {"replicas": 5}
    found = verbs.get(DEPLOYMENT, "d", "default")
    assert found is not None
    assert found["spec"]["replicas"] == 5
    assert found["metadata"]["generation"] == 2


def test_scale_of_a_custom_resource_follows_its_declared_paths(verbs: Verbs) -> None:
    clique = {"roleName": "w", "replicas": 1, "podSpec": {"containers": [{"name": "m"}]}}
    body = {
        "metadata": {"name": "pcs"},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "w", "spec": clique}]}},
    }
    verbs.create(GROVE_POD_CLIQUE_SET, body, "default")
    target = verbs.target(GROVE_POD_CLIQUE_SET, "default", "pcs", "scale")
    scaling.set_scale(verbs.server, target, {"spec": {"replicas": 3}}, WriteOptions())

    found = verbs.get(GROVE_POD_CLIQUE_SET, "pcs", "default")
    assert found is not None
    assert found["spec"]["replicas"] == 3
