"""OpenAPI v3: the index, and the document of a group as `kubectl explain` and typed clients read it."""

from typing import Any

from tests.contract.client import Api

PUBLISHED_SECONDS = 30
QUEUES = "apis/scheduling.run.ai/v2"
GROUP = "apis/contract.muster.dev/v1"
WIDGET = "dev.muster.contract.v1.Widget"


def _index(api: Api) -> Any:
    """The paths; a real server adds those of a new CRD a moment later."""
    wanted = {GROUP, QUEUES}
    found = api.await_answer("/openapi/v3", lambda answer: wanted <= set(answer.body["paths"]), PUBLISHED_SECONDS)
    return found.body["paths"]


def _document(api: Api, path: str) -> Any:
    where = _index(api)[path]["serverRelativeURL"]
    answer = api.get(where)
    assert answer.status == 200
    return answer.body


def test_the_index_has_every_group_with_a_hash(api: Api) -> None:
    paths = _index(api)

    assert {"api/v1", "apis/apps/v1"} <= set(paths)
    for path, entry in paths.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")


def test_a_custom_resource_is_described_with_defaults_and_lists(api: Api) -> None:
    widget = _document(api, GROUP)["components"]["schemas"][WIDGET]

    assert widget["x-kubernetes-group-version-kind"] == [
        {"group": "contract.muster.dev", "kind": "Widget", "version": "v1"}
    ]
    spec = widget["properties"]["spec"]
    assert spec["required"] == ["colour"]
    assert spec["properties"]["colour"] == {"type": "string", "enum": ["red", "green", "blue"]}
    assert spec["properties"]["replicas"]["default"] == 1
    assert spec["properties"]["parts"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["properties"]["free"]["x-kubernetes-preserve-unknown-fields"] is True


def test_paths_say_what_kind_they_are_for(api: Api) -> None:
    paths = _document(api, GROUP)["paths"]
    base = f"/{GROUP}/namespaces/{{namespace}}/widgets"

    assert {base, f"{base}/{{name}}", f"{base}/{{name}}/status"} <= set(paths)
    wanted = {"group": "contract.muster.dev", "kind": "Widget", "version": "v1"}
    assert paths[f"{base}/{{name}}"]["patch"]["x-kubernetes-group-version-kind"] == wanted


def test_pods_are_described(api: Api) -> None:
    schemas = _document(api, "api/v1")["components"]["schemas"]

    spec = schemas["io.k8s.api.core.v1.Pod"]["properties"]["spec"]
    (reference,) = [part["$ref"] for part in spec.get("allOf", [spec])]
    found = schemas[reference.rpartition("/")[2]]
    assert found["properties"]["containers"]["type"] == "array"
    assert found["required"] == ["containers"]


def test_a_group_that_is_not_served_has_no_document(api: Api) -> None:
    assert api.get("/openapi/v3/apis/nobody.example/v1").status == 404
