"""What answers at a cluster's address is no API server, or one gone mad: nothing follows from it but that."""

import gzip
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from clusters.drift import delete_if_ours
from clusters.kinds import KAI_QUEUE, NODE, POD
from clusters.kube import errors, reading
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.live import report
from simulator.api.certificates import ensure_certificates
from tests.clusters.manifests import queue
from tests.clusters.scripted import Answer, Exchange, ScriptedServer

Serve = Callable[..., KubeGateway]

CALLS: dict[str, Callable[[KubeGateway], Any]] = {
    "get": lambda gateway: gateway.get(KAI_QUEUE, "team-a"),
    "list": lambda gateway: gateway.list(POD, "default"),
    "apply": lambda gateway: gateway.apply(KAI_QUEUE, queue()),
    "version": lambda gateway: gateway.server_version(),
    "discovery": lambda gateway: gateway.served_resources(),
    "may": lambda gateway: gateway.may("get", "", "pods"),
    "rules": lambda gateway: gateway.rules("muster"),
    "watch": lambda gateway: list(gateway.watch("/api/v1/nodes", "5")),
}
BODIES = {
    "a page": b"<html><body>Welcome to the hotel</body></html>",
    "nothing": b"",
    "a list": b"[1, 2, 3]",
    "null": b"null",
    "a text": b'"hello"',
    "an empty object": b"{}",
    "a list of no kind": b'{"metadata": {}, "items": []}',
    "a list of no version": b'{"kind": "PodList", "metadata": {}, "items": []}',
    "a status": b'{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}',
    "half of it": b'{"kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": [{"metad',
    "bytes": bytes(range(128, 256)),
    "odd parts": b'{"kind": "APIGroupList", "groups": [1], "status": [], "gitVersion": 5, "metadata": {"name": 1}}',
}


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ScriptedServer] = []

    def start(answer: Answer, *, read: float = 30.0) -> KubeGateway:
        servers.append(ScriptedServer(answer))
        timeouts = Timeouts(connect=30.0, read=read, watch=1, watch_read=read)
        return KubeGateway(Connection("c", servers[-1].url, timeouts=timeouts))

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_answer_that_no_api_server_gives_is_an_error_of_the_cluster(serve: Serve, body: bytes) -> None:
    gateway = serve(lambda exchange: exchange.raw(body))
    said = {}
    for name, call in CALLS.items():
        if name == "watch" and not body:
            continue  # a watch that ends without an event
        with pytest.raises(errors.NotApiServer) as caught:
            call(gateway)
        said[name] = (caught.value.cluster, caught.value.retryable)

    assert set(said.values()) == {("c", True)}
    assert not report(gateway).reachable


STRANGERS = {
    "a page": b"<html><h1>404 Not Found</h1>nginx</html>",
    "JSON": b'{"error": "no route"}',
    "JSON with a message": b'{"message": "no Route matched with those values"}',
    "nothing": b"",
}


@pytest.mark.parametrize("body", STRANGERS.values(), ids=STRANGERS)
def test_a_404_that_is_not_the_api_servers_does_not_say_that_anything_is_absent(serve: Serve, body: bytes) -> None:
    """Else a proxy that has lost its way would end the deletion of a row whose objects are all still there."""
    gateway = serve(lambda exchange: exchange.raw(body, 404))

    for call in (
        *CALLS.values(),
        lambda gateway: gateway.delete(KAI_QUEUE, "team-a"),
        lambda gateway: delete_if_ours(gateway, KAI_QUEUE, "team-a", owner="project/1"),
    ):
        with pytest.raises(errors.NotApiServer):
            call(gateway)


@pytest.mark.parametrize("status", [404, 403, 502])
def test_a_page_is_told_in_words_and_not_shown(serve: Serve, status: int) -> None:
    gateway = serve(lambda exchange: exchange.raw(b"<html><script>alert(1)</script></html>", status))

    with pytest.raises(errors.GatewayError) as caught:
        gateway.get(KAI_QUEUE, "team-a")

    assert caught.value.message == f"A page came instead of an API server's answer (HTTP {status})."


def silent(exchange: Exchange) -> None:
    """The connection ends without a byte of an answer."""
    exchange.handler.close_connection = True


BROKEN = {
    "no answer": silent,
    "half a length": lambda exchange: exchange.break_off(b'{"kind": "PodList"'),
    "no length": lambda exchange: exchange.break_off(),
    "a cut chunk": lambda exchange: exchange.events(("ADDED", queue()), end=False),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_a_connection_that_ends_too_early_is_told_in_words(serve: Serve, answer: Answer) -> None:
    def cut(exchange: Exchange) -> None:
        answer(exchange)
        exchange.handler.close_connection = True

    with pytest.raises(errors.Unavailable) as caught:
        serve(cut).get(KAI_QUEUE, "team-a")

    assert caught.value.message == "The API server ended the connection before its answer was whole."


def test_both_404s_of_an_api_server_keep_their_meaning(serve: Serve) -> None:
    absent = serve(lambda exchange: exchange.error(404, "NotFound", 'queues "team-a" not found'))
    unserved = serve(lambda exchange: exchange.raw(b"404 page not found\n", 404))

    assert absent.get(KAI_QUEUE, "team-a") is None
    with pytest.raises(errors.NotServed):
        unserved.get(KAI_QUEUE, "team-a")
    assert report(unserved).meaning == "What answers there is no API server of Kubernetes."


def test_another_object_than_the_one_that_was_asked_for_is_not_taken_for_it(serve: Serve) -> None:
    gateway = serve(lambda exchange: exchange.json(queue("team-b")))

    with pytest.raises(errors.NotApiServer, match="team-b"):
        gateway.get(KAI_QUEUE, "team-a")


def endless(exchange: Exchange) -> None:
    """Bytes in time, and no end."""
    exchange.handler.send_response(200)
    exchange.handler.end_headers()
    exchange.handler.close_connection = True
    deadline = time.monotonic() + 20
    with suppress(OSError):  # whoever read it has gone
        while time.monotonic() < deadline:
            exchange.handler.wfile.write(b" " * 65536)


def dripping(exchange: Exchange) -> None:
    """A byte now and then, each in time."""
    exchange.handler.send_response(200)
    exchange.handler.send_header("Content-Length", "100000")
    exchange.handler.end_headers()
    with suppress(OSError):
        for _ in range(400):
            exchange.handler.wfile.write(b" ")
            exchange.handler.wfile.flush()
            time.sleep(0.05)


def cut_short(exchange: Exchange) -> None:
    """A whole list, of a length that says more."""
    body = b'{"kind": "NodeList", "metadata": {"resourceVersion": "7"}, "items": []}'
    exchange.handler.send_response(200)
    exchange.handler.send_header("Content-Length", str(len(body) + 1))
    exchange.handler.end_headers()
    exchange.handler.wfile.write(body)
    exchange.handler.close_connection = True


@pytest.mark.parametrize("answer", [endless, dripping])
@pytest.mark.parametrize("name", ["get", "list", "version"])
def test_an_answer_without_an_end_fills_no_memory_and_holds_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, answer: Answer, name: str
) -> None:
    monkeypatch.setattr(reading, "MAX_ANSWER", 1024 * 1024)
    monkeypatch.setattr(reading, "MAX_PAGE", 1024 * 1024)
    gateway = serve(answer, read=1.5)
    began = time.monotonic()

    with pytest.raises(errors.Unavailable, match=re.compile("did not end in time|too long|timed out")):
        CALLS[name](gateway)

    assert time.monotonic() - began < 15


@pytest.mark.parametrize("name", ["list", "version"])
def test_an_answer_that_drips_over_tls_is_cut_off_too(tmp_path: Path, name: str) -> None:
    certificates = ensure_certificates(tmp_path, "127.0.0.1")
    server = ScriptedServer(dripping, certificates=certificates)
    connection = Connection(
        "a", server.url, certificate_authority=certificates.authority_text, timeouts=Timeouts(read=1.5)
    )
    try:
        with pytest.raises(errors.Unavailable, match="did not end in time"):
            CALLS[name](KubeGateway(connection))
    finally:
        server.close()


@pytest.mark.parametrize("name", ["list", "version"])
def test_an_answer_that_ends_before_its_length_is_told(serve: Serve, name: str) -> None:
    with pytest.raises(errors.Unavailable, match="ended the connection before its answer was whole"):
        CALLS[name](serve(cut_short))


A_LIST = b'{"kind": "NodeList", "metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}}]}'


def compressed(body: bytes) -> Answer:
    """As an API server answers who takes gzip."""

    def answer(exchange: Exchange) -> None:
        exchange.handler.send_response(200)
        exchange.handler.send_header("Content-Encoding", "gzip")
        exchange.handler.send_header("Content-Length", str(len(body)))
        exchange.handler.end_headers()
        exchange.handler.wfile.write(body)

    return answer


def test_a_compressed_list_is_read(serve: Serve) -> None:
    gateway = serve(compressed(gzip.compress(A_LIST)))

    assert [node["metadata"]["name"] for node in gateway.list(NODE)] == ["a"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (gzip.compress(A_LIST)[:-9] + gzip.compress(A_LIST)[-4:], "cannot be unpacked"),
        (gzip.compress(A_LIST)[:-9], "cannot be unpacked|too long"),
        (A_LIST + bytes(4), "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (gzip.compress(bytes(1024 * 1024 + 1)), "too long"),
        (gzip.compress(bytes(1024 * 1024 + 1))[:-4] + (9).to_bytes(4, "little"), "cannot be unpacked"),
    ],
    ids=["damaged", "cut", "not compressed", "empty", "swelling", "swelling more than it says"],
)
def test_a_compressed_list_that_is_cut_damaged_or_swells_is_told(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, body: bytes, told: str
) -> None:
    monkeypatch.setattr(reading, "MAX_PAGE", 1024 * 1024)

    with pytest.raises(errors.Unavailable, match=told):
        serve(compressed(body)).list(NODE)


def test_an_event_without_an_end_fills_no_memory(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 1024 * 1024)
    gateway = serve(endless)

    with pytest.raises(errors.Unavailable, match="too long"):
        list(gateway.watch("/api/v1/nodes", "5"))


def test_a_node_list_of_real_objects_is_still_read(serve: Serve) -> None:
    gateway = serve(lambda exchange: exchange.page([{"metadata": {"name": "a"}}], "7"))

    assert [node["metadata"]["name"] for node in gateway.list(NODE)] == ["a"]


def test_a_certificate_that_the_stored_authority_did_not_sign_is_told_with_what_to_do(tmp_path: Path) -> None:
    there, stored = (ensure_certificates(tmp_path / name, "127.0.0.1") for name in ("there", "stored"))
    server = ScriptedServer(lambda exchange: exchange.json({"gitVersion": "v1.35.4"}), certificates=there)
    connection = Connection("a", server.url, certificate_authority=stored.authority_text)

    try:
        with pytest.raises(errors.Unavailable) as caught:
            KubeGateway(connection).server_version()
    finally:
        server.close()

    assert caught.value.message == (
        "The API server's certificate is not trusted (unable to get local issuer certificate): "
        "replace the cluster's kubeconfig."
    )
