"""Faults: the switchboard over HTTP, and what each fault does to requests."""

import time

import pytest
import urllib3

from clusters.kinds import CONFIG_MAP, DYNAMO_GRAPH_DEPLOYMENT, DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1, KAI_QUEUE, POD
from simulator.faults import KNOWN, Faults
from tests.simulator.api.conftest import Http

FAULTS = "/simulator/faults"


def test_the_switchboard_over_http(http: Http) -> None:
    on = http.ask("PUT", f"{FAULTS}/node-lost", {"node": "n1", "seconds": 60})
    listed = http.ask("GET", FAULTS).json
    off = http.ask("DELETE", f"{FAULTS}/node-lost")

    assert on.json["parameters"] == {"node": "n1"}
    assert [fault["name"] for fault in listed["faults"]] == ["node-lost"]
    assert listed["known"] == KNOWN
    assert off.status == 200
    assert http.ask("DELETE", f"{FAULTS}/node-lost").status == 404
    assert http.ask("GET", FAULTS).json["faults"] == []


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("no-such-fault", {}),
        ("api-slow", {"seconds": -1}),
        ("api-slow", {"seconds": "x"}),
        ("api-slow", {"delay": "x"}),
        ("api-slow", {"delay": -1}),
        ("too-many-requests", {"retry_after": []}),
        ("gpu-unhealthy", {"node": "a", "count": "many"}),
        ("api-slow", {"delay": 1e300}),
        ("api-slow", {"delay": True}),
    ],
)
def test_a_fault_that_makes_no_sense_is_400(http: Http, name: str, body: dict[str, object]) -> None:
    assert http.ask("PUT", f"{FAULTS}/{name}", body).status == 400


def test_only_the_administrator_may_switch(http: Http) -> None:
    assert http.ask("GET", FAULTS, Authorization="").status == 403
    assert http.ask("PUT", f"{FAULTS}/api-down", {}, Authorization="Bearer other").status == 401


def test_the_switchboard_answers_while_the_api_is_down(http: Http) -> None:
    http.ask("PUT", f"{FAULTS}/api-down", {})
    with pytest.raises(urllib3.exceptions.ProtocolError):
        http.ask("GET", POD.path("default"))

    assert http.ask("GET", "/readyz").status == 200
    assert http.ask("DELETE", f"{FAULTS}/api-down").status == 200
    assert http.ask("GET", POD.path("default")).status == 200


def test_dropped_connections_end_watches_too(http: Http) -> None:
    response = http.open("GET", CONFIG_MAP.path("default") + "?watch=1")
    chunks = response.stream(65536)
    assert b"kube-root-ca.crt" in next(chunks)
    http.fault("connection-dropped", seconds=60)

    with pytest.raises(urllib3.exceptions.ProtocolError):
        list(chunks)


@pytest.mark.parametrize(
    ("name", "method", "status", "reason"),
    [
        ("too-many-requests", "GET", 429, "TooManyRequests"),
        ("internal-error", "GET", 500, "InternalError"),
        ("gone", "GET", 410, "Expired"),
        ("conflict", "POST", 409, "Conflict"),
    ],
)
def test_refusals(http: Http, name: str, method: str, status: int, reason: str) -> None:
    http.fault(name, times=1)
    body = {"metadata": {"name": "c"}} if method == "POST" else None
    first = http.ask(method, CONFIG_MAP.path("default"), body)
    second = http.ask(method, CONFIG_MAP.path("default"), body)

    assert (first.status, first.json["reason"]) == (status, reason)
    assert second.status in (200, 201)


def test_too_many_requests_say_when_to_come_back(http: Http) -> None:
    http.fault("too-many-requests", retry_after=7)
    answer = http.ask("GET", POD.path("default"))

    assert answer.headers["Retry-After"] == "7"
    assert answer.json["details"]["retryAfterSeconds"] == 7


def test_a_fault_can_be_narrowed(http: Http) -> None:
    http.fault("internal-error", kind="pods", namespace="default")

    assert http.ask("GET", POD.path("default")).status == 500
    assert http.ask("GET", POD.path("kube-system")).status == 200
    assert http.ask("GET", CONFIG_MAP.path("default")).status == 200


def test_a_slow_api_answers_late(http: Http) -> None:
    http.fault("api-slow", delay=0.2, times=1)
    started = time.monotonic()
    http.ask("GET", POD.path("default"))

    assert time.monotonic() - started >= 0.2


def test_a_version_that_is_not_served_vanishes_everywhere(http: Http) -> None:
    http.fault("version-not-served", group="nvidia.com", version="v1beta1")
    group = http.ask("GET", "/apis/nvidia.com").json

    assert http.ask("GET", DYNAMO_GRAPH_DEPLOYMENT.path("default")).raw == b"404 page not found\n"
    assert [one["version"] for one in group["versions"]] == ["v1alpha1"]
    assert http.ask("GET", DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1.path("default")).status == 200


def test_a_conversion_webhook_that_is_down_hurts_only_where_it_is_needed(http: Http) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "x:1.0.0"}]}}
    body = {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a", "podTemplate": template}]}}
    http.create(DYNAMO_GRAPH_DEPLOYMENT, body, "default")
    http.fault("conversion-down", group="nvidia.com")
    old = DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1
    one, listed = http.ask("GET", old.path("default", "g")), http.ask("GET", old.path("default"))
    watched, deleted = http.ask("GET", old.path("default") + "?watch=1"), http.ask("DELETE", old.path("default", "g"))

    assert http.ask("GET", DYNAMO_GRAPH_DEPLOYMENT.path("default", "g")).status == 200
    assert http.ask("GET", DYNAMO_GRAPH_DEPLOYMENT.path("default")).status == 200
    assert one.status == deleted.status == 500
    assert one.json["message"].startswith(
        "conversion webhook for nvidia.com/v1beta1, Kind=DynamoGraphDeployment failed: Post "
    )
    assert listed.status == watched.status == 429
    assert listed.json["message"].startswith("storage is (re)initializing: failed to list ")
    assert listed.headers["Retry-After"] == "1"


def test_a_watch_that_loses_events_says_nothing(http: Http) -> None:
    version = http.ask("GET", KAI_QUEUE.path()).json["metadata"]["resourceVersion"]
    response = http.open("GET", KAI_QUEUE.path() + f"?watch=1&resourceVersion={version}&timeoutSeconds=1")
    http.fault("watch-lossy", kind="queues")
    http.create(KAI_QUEUE, {"metadata": {"name": "lost"}, "spec": {"resources": {}}})

    assert b"lost" not in b"".join(response.stream(65536))
    response.release_conn()


def test_faults_end_by_time() -> None:
    now = [100.0]
    faults = Faults(lambda: now[0])
    faults.switch_on("api-slow", {"seconds": 5})
    assert faults.active("api-slow") is not None
    now[0] = 105.0

    assert faults.active("api-slow") is None
    assert faults.all() == []


def test_faults_end_by_count() -> None:
    faults = Faults()
    faults.switch_on("conflict", {"times": 2})

    assert [faults.strike("conflict") is not None for _ in range(3)] == [True, True, False]


def test_a_fault_without_a_parameter_concerns_everything() -> None:
    faults = Faults()
    faults.switch_on("exporter-down")
    faults.switch_on("node-lost", {"node": "n1"})

    assert faults.active("exporter-down", node="any") is not None
    assert faults.active("node-lost", node="n1") is not None
    assert faults.active("node-lost", node="n2") is None
