"""What the Dynamo runtime asks of an API server for its discovery: which workers are ready, and what each offers."""

import itertools
from typing import Any

from tests.contract.client import Answer, Api
from tests.contract.steps import pod
from tests.contract.test_garbage import GARBAGE_SECONDS

SLICES = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
RECORDS = "/apis/nvidia.com/v1alpha1/namespaces/{ns}/dynamoworkermetadatas"
READY_WORKERS = {"labelSelector": "nvidia.com/dynamo-discovery-enabled=true"}


def endpoints(*, ready: bool) -> list[dict[str, Any]]:
    return [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": "worker"}}]


def slice_of(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": endpoints(ready=True)}


def record(worker: Answer, *offered: str) -> dict[str, Any]:
    """As a worker writes it: its pod owns it."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": worker.meta["name"], "uid": worker.meta["uid"]}
    owner |= {"controller": True, "blockOwnerDeletion": False}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoWorkerMetadata",
        "metadata": {"name": worker.meta["name"], "ownerReferences": [owner]},
        "spec": {"data": {"endpoints": {key: {"transport": "tcp"} for key in offered}, "model_cards": {}}},
    }


def offer(api: Api, worker: Answer, *offered: str) -> Answer:
    return api.apply(f"{RECORDS}/{worker.meta['name']}", record(worker, *offered), "dynamo-worker", force="true")


def follow(api: Api, path: str, version: str, count: int, **query: Any) -> list[dict[str, Any]]:
    asked = {"allowWatchBookmarks": "true", "timeoutSeconds": "290", "resourceVersion": version, **query}
    return list(itertools.islice(api.watch(path, **asked), count))


def test_workers_are_listed_by_their_label_and_their_readiness_is_followed(api: Api) -> None:
    assert api.post(SLICES, slice_of("workers", **{"nvidia.com/dynamo-discovery-enabled": "true"})).status == 201
    assert api.post(SLICES, slice_of("others")).status == 201

    found = api.get(SLICES, limit=500, **READY_WORKERS)
    api.merge(f"{SLICES}/workers", {"endpoints": endpoints(ready=False)})
    [event] = follow(api, SLICES, found.meta["resourceVersion"], 1, **READY_WORKERS)

    assert [(item["metadata"]["name"], item["endpoints"]) for item in found.body["items"]] == [
        ("workers", endpoints(ready=True))
    ]
    assert (event["type"], event["object"]["endpoints"]) == ("MODIFIED", endpoints(ready=False))


def test_what_a_worker_offers_is_applied_and_followed(api: Api) -> None:
    worker = api.post("pods", pod("worker"))
    version = api.get(RECORDS, limit=500).meta["resourceVersion"]

    made, changed = offer(api, worker, "ns/decode/generate/1"), offer(api, worker, "ns/decode/generate/2")
    api.delete(f"{RECORDS}/worker")
    events = follow(api, RECORDS, version, 3)

    assert (made.status, changed.status) == (201, 200)
    assert (made.meta["generation"], changed.meta["generation"]) == (1, 2)
    assert made.meta["uid"] == changed.meta["uid"]
    assert int(made.meta["resourceVersion"]) < int(changed.meta["resourceVersion"])
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [list(event["object"]["spec"]["data"]["endpoints"]) for event in events[:2]] == [
        ["ns/decode/generate/1"],
        ["ns/decode/generate/2"],
    ]


def test_what_a_worker_offered_goes_with_its_pod(api: Api) -> None:
    offer(api, api.post("pods", pod("worker")), "ns/decode/generate/1")

    api.delete("pods/worker")

    api.await_status(f"{RECORDS}/worker", 404, GARBAGE_SECONDS)
