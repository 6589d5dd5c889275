"""The gateway on the wire: addresses, content types, errors, redirects, timeouts."""

import json
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from clusters.kinds import CONFIG_MAP, KAI_QUEUE, NODE, POD
from clusters.kube import errors
from clusters.kube.client import Connection, KubeGateway, Timeouts
from core.errors import InvalidInput
from tests.clusters.manifests import config_map, queue
from tests.clusters.scripted import Answer, Exchange, ScriptedServer

Serve = Callable[..., tuple[ScriptedServer, KubeGateway]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ScriptedServer] = []

    def start(*answers: Answer, token: str = "secret-token") -> tuple[ScriptedServer, KubeGateway]:
        server = ScriptedServer(*answers)
        servers.append(server)
        timeouts = Timeouts(connect=1.0, read=0.4, watch=1, watch_read=0.4)
        return server, KubeGateway(Connection("c", server.url, token=token, timeouts=timeouts))

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("name", ["", ".", "..", "%2e%2e", "a/b", "x?y", "A", "-a", "a" * 254, "a\n", "ä"])
def test_a_name_that_would_change_the_url_never_leaves(serve: Serve, name: str) -> None:
    server, gateway = serve(lambda exchange: exchange.json({}))

    for call in (
        lambda: gateway.get(POD, name, "default"),
        lambda: gateway.delete(POD, name, "default"),
        lambda: gateway.get(POD, "x", name),
        lambda: gateway.delete(POD, "x", name),
        lambda: gateway.list(POD, name),
        lambda: gateway.apply(CONFIG_MAP, config_map(name)),
        lambda: gateway.apply(CONFIG_MAP, config_map("x", name)),
        lambda: gateway.get(NODE, name),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert server.exchanges == []


def test_an_apply_is_a_server_side_apply_with_our_field_manager(serve: Serve) -> None:
    server, gateway = serve(lambda exchange: exchange.json(queue()))

    gateway.apply(KAI_QUEUE, queue(), dry_run=True)

    (exchange,) = server.exchanges
    assert exchange.method == "PATCH"
    assert exchange.path == "/apis/scheduling.run.ai/v2/queues/team-a"
    assert exchange.headers["Content-Type"] == "application/apply-patch+yaml"
    assert exchange.headers["Authorization"] == "Bearer secret-token"
    assert exchange.query == {"fieldManager": "muster", "force": "false", "dryRun": "All"}
    assert json.loads(exchange.body) == queue()


@pytest.mark.parametrize(
    ("status", "reason", "expected", "retryable"),
    [
        (400, "BadRequest", errors.Rejected, False),
        (401, "Unauthorized", errors.Unauthorized, False),
        (403, "Forbidden", errors.Forbidden, False),
        (409, "Conflict", errors.AlreadyChanged, True),
        (410, "Expired", errors.Gone, True),
        (422, "Invalid", errors.Rejected, False),
        (429, "TooManyRequests", errors.Unavailable, True),
        (500, "InternalError", errors.Unavailable, True),
        (503, "ServiceUnavailable", errors.Unavailable, True),
    ],
)
def test_an_answer_becomes_the_error_that_says_whether_waiting_helps(
    serve: Serve, status: int, reason: str, expected: type[errors.GatewayError], retryable: bool
) -> None:
    _, gateway = serve(lambda exchange: exchange.error(status, reason, "because of this"))

    with pytest.raises(errors.GatewayError) as caught:
        gateway.get(NODE, "n1")

    assert type(caught.value) is expected
    assert caught.value.retryable is retryable
    assert caught.value.message == "because of this"
    assert (caught.value.cluster, caught.value.status) == ("c", status)


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
        (500, "", "etcdserver: request is too large"),
        (500, "", "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3 vs. 2)"),
    ],
)
def test_an_object_that_is_too_large_is_told_so_and_not_tried_again(
    serve: Serve, status: int, reason: str, words: str
) -> None:
    _, gateway = serve(lambda exchange: exchange.error(status, reason, words))

    with pytest.raises(errors.TooLarge) as caught:
        gateway.apply(KAI_QUEUE, queue())

    assert not caught.value.retryable
    assert caught.value.message == f"The object is too large for the cluster: {words}"


def test_a_redirect_is_not_followed(serve: Serve) -> None:
    canary, _ = serve(lambda exchange: exchange.json({}))
    _, gateway = serve(lambda exchange: exchange.raw(b"", 302, Location=canary.url + "/latest/meta-data"))

    with pytest.raises(errors.Rejected, match="redirect"):
        gateway.get(NODE, "n1")

    assert canary.exchanges == []


def test_a_server_that_does_not_answer_is_unavailable_in_time(serve: Serve) -> None:
    server, gateway = serve(lambda exchange: server.hold(exchange))  # noqa: PLW0108

    with pytest.raises(errors.Unavailable, match="in time"):
        gateway.get(NODE, "n1")


def test_nobody_listening_is_unavailable() -> None:
    gateway = KubeGateway(Connection("c", "http://127.0.0.1:1"))

    with pytest.raises(errors.Unavailable, match="cannot be reached"):
        gateway.list(NODE)


def test_a_failed_page_is_an_error_and_never_a_shorter_list(serve: Serve) -> None:
    _, gateway = serve(
        lambda exchange: exchange.page([{"metadata": {"name": "a"}}], "7", "more"),
        lambda exchange: exchange.break_off(b'{"items": ['),
    )

    with pytest.raises(errors.Unavailable):
        gateway.list(NODE)


def test_a_list_that_expires_between_pages_is_begun_anew(serve: Serve) -> None:
    server, gateway = serve(
        lambda exchange: exchange.page([{"metadata": {"name": "a"}}], "7", "more"),
        lambda exchange: exchange.error(410, "Expired"),
        lambda exchange: exchange.page([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}], "9"),
    )

    assert [item["metadata"]["name"] for item in gateway.list(NODE)] == ["a", "b"]
    assert [exchange.query.get("continue") for exchange in server.exchanges] == [None, "more", None]
    assert {exchange.query["limit"] for exchange in server.exchanges} == {"500"}


def test_an_unreadable_answer_is_an_error(serve: Serve) -> None:
    _, gateway = serve(lambda exchange: exchange.raw(b"<html>login</html>"))

    with pytest.raises(errors.Unavailable):
        gateway.list(NODE)


def watch(gateway: KubeGateway) -> list[tuple[str, bytes]]:
    return [(event.type, bytes(event.raw)) for event in gateway.watch("/api/v1/nodes", "5")]


def test_a_watch_yields_events_and_asks_for_bookmarks_and_an_end(serve: Serve) -> None:
    server, gateway = serve(lambda exchange: exchange.events(("ADDED", {"a": 1}), ("BOOKMARK", {"b": 2})))

    assert watch(gateway) == [("ADDED", b'{"a": 1}'), ("BOOKMARK", b'{"b": 2}')]
    assert server.exchanges[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "1",
    }


def expired_event(exchange: Exchange) -> None:
    exchange.events(("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}))


@pytest.mark.parametrize("answer", [expired_event, lambda exchange: exchange.error(410, "Expired")])
def test_410_is_gone_as_an_event_and_as_a_status(serve: Serve, answer: Answer) -> None:
    _, gateway = serve(answer)

    with pytest.raises(errors.Gone):
        watch(gateway)


def test_a_watch_that_says_nothing_any_more_is_noticed(serve: Serve) -> None:
    def freeze(exchange: Exchange) -> None:
        exchange.events(("ADDED", {}), end=False)
        server.hold(exchange)

    server, gateway = serve(freeze)

    with pytest.raises(errors.Unavailable, match="in time"):
        watch(gateway)


def test_nul_characters_which_a_database_cannot_hold_are_replaced(serve: Serve) -> None:
    _, gateway = serve(lambda exchange: exchange.page([{"metadata": {"name": "a"}, "message": "x\x00y"}], "1"))

    assert gateway.list(NODE)[0]["message"] == "x\ufffdy"


def test_a_name_that_points_at_ourselves_looks_like_a_closed_port(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = serve(lambda exchange: exchange.json({}))
    port = server.url.rpartition(":")[2]
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    said = []
    for url in (f"http://rebound.example.org:{port}", "http://rebound.example.org:1"):
        with pytest.raises(errors.Unavailable) as caught:
            KubeGateway(Connection("c", url)).get(NODE, "n1")
        said.append(re.sub(r"port=\d+", "", caught.value.message))

    assert said[0] == said[1]
    assert server.exchanges == []


def test_a_path_for_text_cannot_leave_the_api(serve: Serve) -> None:
    server, gateway = serve(lambda exchange: exchange.raw(b"x 1\n"))

    assert gateway.read_text("/api/v1/namespaces/a/pods/b:9400/proxy/metrics") == "x 1\n"
    for path in ("/api/../x", "//evil.example.org/", "relative", "/a/./b"):
        with pytest.raises(errors.GatewayError):
            gateway.read_text(path)
    assert len(server.exchanges) == 1


def test_the_token_is_in_no_text_form_of_a_connection() -> None:
    assert "secret" not in repr(Connection("c", "https://x", token="secret", key="secret"))
