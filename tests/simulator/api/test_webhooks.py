"""KAI's webhooks and schemas against answers recorded from a real API server with KAI (data/webhooks.jsonl)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_TOPOLOGY,
)
from simulator.api import deleting, patching, writing
from simulator.api.durations import problem
from simulator.api.errors import ApiError
from simulator.api.requests import DeleteOptions, WriteOptions
from simulator.client import Object
from tests.simulator.api.conftest import Verbs

RECORDINGS = Path(__file__).with_name("data") / "webhooks.jsonl"
KINDS = {"Topology": KAI_TOPOLOGY, "PodGroup": KAI_POD_GROUP, "Queue": KAI_QUEUE}


def recorded(kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in RECORDINGS.read_text().splitlines())
    return [line for line in lines if line["kind"] == kind]


def play(verbs: Verbs, kind: str, lines: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], tuple[Any, ...]]]:
    """The recorded requests in their order against our server: (line, our status, message and warnings)."""
    served = KINDS[kind]
    namespace = "default" if served.namespaced else None
    first = lines[0]["object"]["metadata"]["name"]
    deletions = iter(["w2", "w3", "w7", "w1"])
    for line in lines:
        if line["case"] == "delete with children":
            children = {"status": {"childQueues": ["w2", "w3", "w7"]}}
            verbs.patch(served, "w1", children, subresource="status")
        if line["case"] == "delete former parent":
            verbs.patch(served, "w1", {"status": {"childQueues": None}}, subresource="status")
        name = patched_name(line, first)
        if line["method"] == "DELETE" and line["case"].startswith("delete ") and line["case"] != "delete with children":
            name = next(deletions)
        yield line, ask(verbs, served, namespace, name, line)


def patched_name(line: dict[str, Any], first: str) -> str:
    if line["case"].startswith("middle with minMember on"):
        return "w1"
    if line["kind"] == "Queue":
        return "w1"
    return first


def ask(verbs: Verbs, kind: Any, namespace: str | None, name: str, line: dict[str, Any]) -> tuple[Any, ...]:
    options = WriteOptions()
    try:
        if line["method"] == "POST":
            writing.create(verbs.server, verbs.target(kind, namespace), line["object"], options)
            status = 201
        elif line["method"] == "PATCH":
            target = verbs.target(kind, namespace, name)
            merge = patching.MERGE_PATCH
            patching.patch(verbs.server, target, merge, line["object"], options)
            status = 200
        else:
            deleting.delete(verbs.server, verbs.target(kind, namespace, name), DeleteOptions())
            status = 200
    except ApiError as error:
        return error.code, error.message, []
    shown = [f'299 - "{text}"' for text in (text.replace('"', '\\"') for text in options.warnings)]
    return status, None, shown


@pytest.mark.parametrize("kind", ["Topology", "PodGroup", "Queue"])
def test_answers_are_those_of_the_real_api_server(verbs: Verbs, kind: str) -> None:
    verbs.server.quota_validation = kind == "Queue"
    for line, (status, message, warnings) in play(verbs, kind, recorded(kind)):
        assert (line["case"], status, message) == (line["case"], line["status"], line["message"])
        if status < 300:
            assert (line["case"], warnings) == (line["case"], line["warnings"])


def test_by_default_queues_are_not_checked_against_their_parents(verbs: Verbs) -> None:
    lines = recorded("Queue (quota validation off, the default)")
    assert len(lines) == 4
    for line in lines:
        assert ask(verbs, KAI_QUEUE, None, "", line) == (line["status"], line["message"], line["warnings"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5m", ""),
        ("1h30m10.5s", ""),
        ("-5s", ""),
        ("0", ""),
        ("300ms", ""),
        (".5s", ""),
        ("abc", 'time: invalid duration "abc"'),
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 hour", 'time: unknown unit " hour" in duration "1 hour"'),
    ],
)
def test_go_durations(text: str, said: str) -> None:
    assert problem(text) == said


def test_a_webhook_that_is_down_refuses_what_it_guards(verbs: Verbs) -> None:
    verbs.server.faults.switch_on("webhook-down", {"group": "scheduling.run.ai"})
    error = verbs.refused(verbs.create, KAI_QUEUE, {"metadata": {"name": "q"}, "spec": {"resources": {}}})
    verbs.create(KAI_TOPOLOGY, {"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "a"}]}})

    assert error.code == 500
    assert 'failed calling webhook "queue.run.ai"' in error.message


def graph(*components: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "g"}, "spec": {"components": list(components) or [component("a")], **spec}}


def component(name: str, image: str = "x/y:1.6.1", **given: Any) -> Object:
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    return {"name": name, "type": "worker", "podTemplate": template, **given}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (graph(component("a"), component("A")), 'spec.components[1].name: Duplicate value: "A"'),
        (graph(component("a" * 45)), "at most 45 are allowed"),
        (graph({"name": "a"}), 'a container named "main" with an image is required'),
        (graph(component("a", "x/y:latest")), "spec.components[0].runtimeVersionOverride: Required value"),
        (graph(component("a", "x/y@sha256:00")), "spec.components[0].runtimeVersionOverride: Required value"),
        (graph(restart={"id": "1"}), "spec.restart: Forbidden"),
        (graph(component("a", minAvailable=3, replicas=2)), "must not exceed replicas (2)"),
        (graph(component("a", type="epp"), component("b", type="epp")), "at most one component of type epp"),
        (graph(component("a", type="frontend", multinode={"nodeCount": 2})), "only worker, prefill and decode"),
        (graph(component("a", topologyConstraint={"packDomain": "rack"})), "is required first"),
        (graph(topologyConstraint={"clusterTopologyName": "dc"}), "packDomain: Required value"),
        (graph(topologyConstraint={"clusterTopologyName": "no", "packDomain": "rack"}), "no ClusterTopologyBinding"),
        (graph(topologyConstraint={"clusterTopologyName": "dc", "packDomain": "row"}), 'supported values: "zone"'),
        (
            graph(
                component("a", topologyConstraint={"packDomain": "zone"}),
                topologyConstraint={"clusterTopologyName": "dc", "packDomain": "rack"},
            ),
            "must be equal to or narrower",
        ),
    ],
)
def test_graphs_that_would_harm_are_refused(verbs: Verbs, body: Object, text: str) -> None:
    levels = [{"domain": "zone", "key": "z"}, {"domain": "rack", "key": "r"}]
    verbs.create(GROVE_CLUSTER_TOPOLOGY_BINDING, {"metadata": {"name": "dc"}, "spec": {"levels": levels}})
    error = verbs.refused(verbs.create, DYNAMO_GRAPH_DEPLOYMENT, body, "default")

    assert error.code == 403
    assert text in error.message


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"backendFramework": "sglang"}, "spec.backendFramework: Forbidden: field is immutable"),
        ({"components": [component("b")]}, "the set of components is immutable (added: [b], removed: [a])"),
        ({"components": [component("a", type="decode")]}, "spec.components[a].type: Forbidden"),
        ({"components": [component("a", minAvailable=1)]}, "spec.components[a].minAvailable: Forbidden"),
        ({"components": [component("a", multinode={"nodeCount": 2})]}, "cannot be exchanged"),
        ({"topologyConstraint": {"clusterTopologyName": "x"}}, "spec.topologyConstraint: Forbidden"),
    ],
)
def test_what_a_graph_cannot_change(verbs: Verbs, patch: Object, text: str) -> None:
    verbs.create(DYNAMO_GRAPH_DEPLOYMENT, graph(backendFramework="vllm"), "default")
    error = verbs.refused(verbs.patch, DYNAMO_GRAPH_DEPLOYMENT, "g", {"spec": patch}, "default")

    assert error.code == 403
    assert text in error.message


def test_a_graph_may_scale_and_change_its_image(verbs: Verbs) -> None:
    verbs.create(DYNAMO_GRAPH_DEPLOYMENT, graph(), "default")
    changed = {"spec": {"components": [component("a", "x/y:1.6.2", replicas=4)]}}

    assert verbs.patch(DYNAMO_GRAPH_DEPLOYMENT, "g", changed, "default")["metadata"]["generation"] == 2
