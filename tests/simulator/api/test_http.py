"""The HTTP face: forms of answers, discovery, streams, subresources, limits, TLS."""

import contextlib
import http.client as http_client
import json
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clusters.kinds import CONFIG_MAP, DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1, KAI_QUEUE, KAI_TOPOLOGY, NODE, POD, SERVICE
from simulator.api.certificates import Certificates, ensure_certificates
from simulator.api.hooks import ProxyAnswer
from tests.simulator.api.conftest import Http, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_what_is_not_installed_is_404_in_plain_text(http: Http) -> None:
    answer = http.ask("GET", "/apis/example.org/v1/namespaces/default/things")

    assert (answer.status, answer.raw) == (404, b"404 page not found\n")


def test_an_absent_object_is_a_status(http: Http) -> None:
    answer = http.ask("GET", KAI_QUEUE.path(None, "absent"))

    assert answer.status == 404
    assert answer.json == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": 'queues.scheduling.run.ai "absent" not found', "reason": "NotFound",
        "details": {"name": "absent", "group": "scheduling.run.ai", "kind": "queues"}, "code": 404,
    }  # fmt: skip


def test_lists_page_over_http(http: Http) -> None:
    for number in range(3):
        http.create(CONFIG_MAP, config_map(f"c{number}"), "default")
    first = http.ask("GET", CONFIG_MAP.path("default") + "?limit=2").json
    rest = http.ask("GET", CONFIG_MAP.path("default") + f"?limit=2&continue={first['metadata']['continue']}").json

    assert (first["kind"], first["apiVersion"]) == ("ConfigMapList", "v1")
    assert first["metadata"]["remainingItemCount"] == 2
    assert [item["metadata"]["name"] for item in first["items"] + rest["items"]] == [
        "c0", "c1", "c2", "kube-root-ca.crt",
    ]  # fmt: skip


def test_tables_have_columns_of_the_kind(http: Http) -> None:
    http.create(POD, pod("p", nodeName="n1"), "default")
    spec = {"parentQueue": "dept", "priority": 7, "resources": {}}
    http.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": spec})
    pods = http.ask("GET", POD.path("default"), Accept=TABLE).json
    queues = http.ask("GET", KAI_QUEUE.path(), Accept=TABLE).json

    assert pods["kind"] == "Table"
    names = [column["name"] for column in pods["columnDefinitions"]]
    cells = dict(zip(names, pods["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["Ready"], cells["Status"], cells["Node"]) == ("p", "0/1", "Pending", "n1")
    assert pods["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert [column["name"] for column in queues["columnDefinitions"]] == [
        "Name", "Priority", "Parent", "Children", "DisplayName",
    ]  # fmt: skip
    assert queues["rows"][0]["cells"] == ["q", "7", "dept", None, None]


def test_only_metadata_can_be_asked_for(http: Http) -> None:
    answer = http.ask("GET", CONFIG_MAP.path("default"), Accept=PARTIAL).json

    assert answer["kind"] == "PartialObjectMetadataList"
    assert set(answer["items"][0]) == {"kind", "apiVersion", "metadata"}


def read_events(http: Http, path: str, count: int, **headers: str) -> list[Any]:
    response = http.open("GET", path, **headers)
    lines, rest = [], b""
    for chunk in response.stream(4096):
        *whole, rest = (rest + chunk).split(b"\n")
        lines += [json.loads(line) for line in whole]
        if len(lines) >= count:
            break
    response.close()
    return lines


def test_a_watch_streams_lines_as_they_happen(http: Http) -> None:
    version = http.ask("GET", CONFIG_MAP.path("default")).json["metadata"]["resourceVersion"]
    response = http.open("GET", CONFIG_MAP.path("default") + f"?watch=1&resourceVersion={version}")
    http.create(CONFIG_MAP, config_map("a", x="1"), "default")
    first = json.loads(next(iter(response.stream(65536))))
    response.close()

    assert (first["type"], first["object"]["data"]) == ("ADDED", {"x": "1"})


def test_a_watch_of_one_object_by_name(http: Http) -> None:
    for name in ("a", "b"):
        http.create(CONFIG_MAP, config_map(name), "default")
    path = CONFIG_MAP.path("default") + "?watch=1&fieldSelector=metadata.name%3Db&timeoutSeconds=1"

    events = read_events(http, path, 10)
    assert [event["object"]["metadata"]["name"] for event in events] == ["b"]


def test_a_watched_table_says_its_columns_once(http: Http) -> None:
    path = NODE.path() + "?watch=1&timeoutSeconds=1"
    http.create(NODE, {"metadata": {"name": "n1"}})
    http.create(NODE, {"metadata": {"name": "n2"}})
    first, second = read_events(http, path, 2, Accept=TABLE)

    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "n2"


def test_a_watch_from_too_long_ago_ends_with_an_error_event(http: Http) -> None:
    http.create(CONFIG_MAP, config_map("a"), "default")
    http.call(http.server.store.collection(("", "configmaps")).compact)
    events = read_events(http, CONFIG_MAP.path("default") + "?watch=1&resourceVersion=1", 1)

    assert events[0]["type"] == "ERROR"
    assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")
    assert events[0]["object"]["message"].startswith("too old resource version: 1 (")


def test_discovery_in_both_formats(http: Http) -> None:
    groups = http.ask("GET", "/apis").json
    resources = http.ask("GET", "/apis/kai.scheduler/v1alpha1").json
    core = http.ask("GET", "/api/v1").json
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = http.ask("GET", "/apis", Accept=accept)

    versions = {group["name"]: [one["version"] for one in group["versions"]] for group in groups["groups"]}
    assert versions["nvidia.com"] == ["v1beta1", "v1alpha1"]
    assert resources["resources"] == [
        {
            "name": "topologies", "singularName": "topology", "namespaced": False, "kind": "Topology",
            "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
            "storageVersionHash": "I+z0IA97X7A=",
        }
    ]  # fmt: skip
    assert {"pods", "pods/status", "pods/log", "pods/binding"} <= {item["name"] for item in core["resources"]}
    assert aggregated.headers["content-type"] == accept
    found = {item["metadata"]["name"]: item for item in aggregated.json["items"]}
    assert found["scheduling.run.ai"]["versions"][0]["resources"][0]["responseKind"]["kind"] == "Queue"


def test_openapi_describes_every_version(http: Http) -> None:
    index = http.ask("GET", "/openapi/v3").json["paths"]
    document = http.ask("GET", index["apis/scheduling.run.ai/v2"]["serverRelativeURL"]).json
    core = http.ask("GET", index["api/v1"]["serverRelativeURL"]).json

    queue = document["components"]["schemas"]["ai.run.scheduling.v2.Queue"]
    assert queue["properties"]["spec"]["properties"]["priority"]["type"] == "integer"
    patch = document["paths"]["/apis/scheduling.run.ai/v2/queues/{name}"]["patch"]
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    text = json.dumps(core)
    names = set(core["components"]["schemas"])
    assert {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]} <= names


def test_a_deprecated_version_warns(http: Http) -> None:
    answer = http.ask("GET", DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1.path("default"))

    assert answer.warnings == [
        '299 - "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"'
    ]


def test_an_unknown_field_warns_by_default(http: Http) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"parent": "x", "resources": {}}}
    answer = http.create(KAI_QUEUE, body)

    assert (answer.status, answer.warnings) == (201, ['299 - "unknown field \\"spec.parent\\""'])


@pytest.mark.parametrize("raw", [b"{", b'{"metadata": {"name": "q"}, "spec": {"priority": NaN}}', b"[]"])
def test_a_body_that_cannot_be_read_is_400(http: Http, raw: bytes) -> None:
    assert http.ask("POST", KAI_QUEUE.path(), raw).status == 400


def test_a_number_beyond_every_float_is_400(http: Http) -> None:
    raw = b'{"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 1e400}}}}'

    assert http.ask("POST", KAI_QUEUE.path(), raw).status == 400


def test_yaml_is_read_and_its_dates_stay_text(http: Http) -> None:
    raw = b"metadata: {name: c}\ndata: {day: 2026-11-29}\n"
    answer = http.ask("POST", CONFIG_MAP.path("default"), raw, Content_Type="application/yaml")

    assert answer.json["data"] == {"day": "2026-11-29"}


def test_a_body_beyond_three_megabytes_is_413(http: Http) -> None:
    answer = http.create(CONFIG_MAP, config_map("big", x="y" * (3 * 1024 * 1024)), "default")

    assert (answer.status, answer.json["reason"]) == (413, "RequestEntityTooLarge")


def test_an_apply_needs_a_field_manager(http: Http) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("a")}
    media = "application/apply-patch+yaml"
    without = http.ask("PATCH", CONFIG_MAP.path("default", "a"), body, Content_Type=media)
    made = http.ask("PATCH", CONFIG_MAP.path("default", "a") + "?fieldManager=me", body, Content_Type=media)

    assert without.status == 422
    assert "fieldManager: Required value: is required for apply patch" in without.json["message"]
    assert made.status == 201


def test_unknown_methods_and_subresources(http: Http) -> None:
    http.create(POD, pod("p"), "default")

    assert http.ask("PUT", POD.path("default"), {}).status == 405
    assert http.ask("POST", POD.path(), pod("q")).status == 405
    assert http.ask("DELETE", POD.path()).status == 405
    assert http.ask("GET", POD.path("default", "p") + "/nonsense").status == 404
    assert http.ask("GET", KAI_TOPOLOGY.path(None, "t") + "/status").status == 404


def test_logs_of_a_container(http: Http) -> None:
    http.create(POD, pod("p"), "default")
    path = POD.path("default", "p") + "/log"
    waiting = http.ask("GET", path)
    for number in range(3):
        http.call(http.server.hooks.logs.append, "default", "p", "main", f"line {number}")

    assert waiting.json["message"] == 'container "main" in pod "p" is waiting to start: ContainerCreating'
    assert http.ask("GET", path).raw == b"line 0\nline 1\nline 2\n"
    assert http.ask("GET", path + "?tailLines=1&container=main").raw == b"line 2\n"
    wrong = http.ask("GET", path + "?container=other")
    assert (wrong.status, wrong.json["message"]) == (400, "container other is not valid for pod p")


def test_followed_logs_end_with_the_pod(http: Http) -> None:
    http.create(POD, pod("p"), "default")
    http.call(http.server.hooks.logs.append, "default", "p", "main", "first")
    response = http.open("GET", POD.path("default", "p") + "/log?follow=true")
    chunks = response.stream(1024)
    assert next(chunks) == b"first\n"
    http.call(http.server.hooks.logs.append, "default", "p", "main", "second")
    assert next(chunks) == b"second\n"
    http.ask("DELETE", POD.path("default", "p"))

    assert list(chunks) == []
    response.release_conn()


def test_a_proxied_port_is_answered_by_whom_it_is_registered_to(http: Http) -> None:
    async def metrics(method: str, path: str, query: str, body: bytes) -> ProxyAnswer:
        return ProxyAnswer(200, "text/plain; version=0.0.4", f"{method} {path}?{query} {body!r}".encode())

    http.create(POD, pod("exporter"), "default")
    http.create(SERVICE, {"metadata": {"name": "svc"}, "spec": {"ports": [{"name": "web", "port": 80}]}}, "default")
    path = POD.path("default", "exporter:9400") + "/proxy/metrics"
    before = http.ask("GET", path)
    http.server.hooks.proxies[("pods", "default", "exporter", 9400)] = metrics
    http.server.hooks.proxies[("services", "default", "svc", 80)] = metrics
    answer = http.ask("GET", path + "?a=b")

    assert (before.status, before.json["reason"]) == (503, "ServiceUnavailable")
    assert (answer.status, answer.raw) == (200, b"GET /metrics?a=b b''")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    by_name = http.ask("POST", SERVICE.path("default", "svc:web") + "/proxy/v1/chat", b"{}")
    assert by_name.raw == b"POST /v1/chat? b'{}'"
    assert http.ask("GET", POD.path("default", "absent:1") + "/proxy/").status == 404


def test_tls_with_the_written_ca(http: Http, pki: Certificates) -> None:
    context = ssl.create_default_context(cafile=str(pki.authority))
    address = urlsplit(http.secure)
    connection = http_client.HTTPSConnection(address.hostname or "", address.port, context=context, timeout=10)
    connection.request("GET", "/version")
    answer = connection.getresponse()

    assert json.loads(answer.read())["major"] == "1"
    connection.close()


def test_certificates_are_made_once_and_anew_for_another_host(tmp_path: Path) -> None:
    first = ensure_certificates(tmp_path, "127.0.0.1")
    before = first.certificate.read_bytes()
    ensure_certificates(tmp_path, "127.0.0.1")
    same = first.certificate.read_bytes()
    ensure_certificates(tmp_path, "gpu.example.org")

    assert before == same
    assert first.certificate.read_bytes() != before
    assert first.key.stat().st_mode & 0o077 == 0


def test_many_watches_leave_room_for_requests(http: Http) -> None:
    address = urlsplit(http.plain)
    request = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n"
    with contextlib.ExitStack() as opened:
        for _ in range(200):
            connection = socket.create_connection((address.hostname or "", address.port or 0), timeout=20)
            opened.enter_context(contextlib.closing(connection))
            connection.sendall(request)
            assert connection.recv(12) == b"HTTP/1.1 200"
        assert http.ask("GET", POD.path()).status == 200
