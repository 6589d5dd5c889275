"""What the errors of TLS say to whoever entered an address or a kubeconfig: real servers that do not speak it well."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusters.kube.client import KubeGateway
from clusters.kube.errors import BadCertificate, Unavailable
from clusters.kube.tls_words import tls_words
from clusters.kube.transport import Connection, Transport
from simulator.api.certificates import ensure_certificates

Talk = Callable[[socket.socket], None]


def _speak_plain_http(peer: socket.socket) -> None:
    peer.recv(10_000)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _hang_up(peer: socket.socket) -> None:
    peer.recv(10_000)
    peer.shutdown(socket.SHUT_RDWR)


def _refuse_by_alert(description: int) -> Talk:
    """A fatal alert of TLS 1.2 (RFC 5246 §7.2): type 21, version 3.3, two bytes, level 2, and which."""

    def talk(peer: socket.socket) -> None:
        peer.recv(10_000)
        peer.sendall(bytes([21, 3, 3, 0, 2, 2, description]))
        peer.recv(10_000)

    return talk


@pytest.fixture
def listen() -> Iterator[Callable[[Talk], str]]:
    """Starts a server that answers one connection; gives its address."""
    threads, listeners = [], []

    def start(talk: Talk) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run() -> None:
            peer, _address = listener.accept()
            with peer:
                talk(peer)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return f"https://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for thread in threads:
        thread.join(20)
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("talk", "meaning", "technical"),
    [
        (_speak_plain_http, "does not speak TLS: it may be a plain HTTP port, or a proxy", "WRONG_VERSION_NUMBER"),
        (_hang_up, "The server hung up before TLS was agreed on", "UNEXPECTED_EOF_WHILE_READING"),
        # Numbers of RFC 8446 §6: handshake_failure, protocol_version, bad_certificate, unrecognized_name.
        (_refuse_by_alert(40), "no version of TLS from 1.2 on, or no cipher", "HANDSHAKE_FAILURE"),
        (_refuse_by_alert(70), "no version of TLS from 1.2 on", "PROTOCOL_VERSION"),
        (_refuse_by_alert(42), "does not accept the client certificate", "BAD_CERTIFICATE"),
        (_refuse_by_alert(112), "does not know the host name", "UNRECOGNIZED_NAME"),
        (_refuse_by_alert(22), "TLS could not be agreed on", "RECORD_OVERFLOW"),
    ],
)
def test_tls_that_fails_is_told_in_words_beside_openssls(
    listen: Callable[[Talk], str], talk: Talk, meaning: str, technical: str
) -> None:
    gateway = KubeGateway(Connection("lab", listen(talk)))

    with pytest.raises(Unavailable) as caught:
        gateway.server_version()

    assert meaning in caught.value.message
    assert technical in caught.value.message
    assert "_ssl.c" not in caught.value.message


def test_a_client_certificate_that_cannot_be_used_is_told_in_words(tmp_path: Path) -> None:
    one, other = (ensure_certificates(tmp_path / name, "127.0.0.1") for name in ("one", "other"))

    def refusal(authority: str = "", certificate: str = "", key: str = "") -> str:
        with pytest.raises(BadCertificate) as caught:
            Transport(Connection("lab", "https://127.0.0.1:1", authority, certificate=certificate, key=key))
        return caught.value.message

    mixed = refusal(certificate=one.certificate.read_text(), key=other.key.read_text())
    assert mixed.startswith("The client key is not the one of the client certificate (KEY_VALUES_MISMATCH")
    cut = refusal(certificate=one.certificate.read_text()[:300], key=one.key.read_text())
    assert cut == "The client certificate or its key is no PEM text, or is cut off (PEM lib)."
    assert refusal(authority="x").startswith("The CA is no PEM certificate, or is cut off (no start line")


def test_what_is_no_error_of_tls_has_no_words_of_it() -> None:
    assert tls_words("Connection refused") == ""
    assert tls_words(str(ssl.SSLError(1, "[SSL: HTTP_REQUEST] http request (_ssl.c:1006)"))).endswith(
        "(HTTP_REQUEST: http request)."
    )
