"""HTTP to one Kubernetes API server: TLS, credential, timeouts, no redirects, no proxies, and errors in our own words.

Plain urllib3, as the official client uses underneath. The official client would want the decrypted key and CA as
files on disk, and follows redirects; its models are never used (they cost 70 times the CPU, see docs/benchmarks.md).
"""

import errno
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError
from urllib3.util import Timeout

from clusters.addresses import is_refused
from clusters.kube import errors
from clusters.kube.errors import GatewayError, Unavailable
from clusters.kube.reading import Body, Endless, read_whole
from clusters.kube.tls_words import certificate_words, tls_words

REFUSED = "Connection refused"
# However often a byte arrives in time: after so many times the time for one, the answer is too slow.
PATIENCE = 2
UNKNOWN_PATH = "404 page not found"
# What etcd, and the API server's own client of it, say of an object that is too large: beyond 1.5 and 2 MiB.
TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. A watch is asked to end after `watch`; `watch_read` is when silence means that it is frozen."""

    connect: float = 5.0
    read: float = 30.0
    watch: int = 55
    watch_read: float = 70.0


@dataclass(frozen=True, slots=True)
class Connection:
    """What is needed to talk to one cluster, in the clear; PEM texts."""

    name: str
    server: str
    certificate_authority: str = ""
    token: str = field(default="", repr=False)
    certificate: str = ""
    key: str = field(default="", repr=False)
    timeouts: Timeouts = Timeouts()


Query = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Content:
    """What is sent (a JSON body and its media type), and which media type and encoding are asked for."""

    body: Any = None
    type: str = "application/json"
    accept: str = "application/json"
    encoding: str = "identity"


class _Cause(msgspec.Struct, gc=False):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, gc=False):
    kind: str = ""
    name: str = ""
    causes: list[_Cause] = []


class Status(msgspec.Struct, gc=False):
    """`metav1.Status`, as far as it is used."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


class _CheckedConnection(HTTPConnection):
    def _new_conn(self) -> Any:
        return _checked(self, super()._new_conn())


class _CheckedTLSConnection(HTTPSConnection):
    def _new_conn(self) -> Any:
        return _checked(self, super()._new_conn())


class _Pool(HTTPConnectionPool):
    ConnectionCls = _CheckedConnection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _CheckedTLSConnection


class Transport:
    """Sends requests to one API server; every failure is a `GatewayError`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        tls: dict[str, Any] = {}
        if connection.server.startswith("https"):
            tls["ssl_context"] = _tls(connection)
        self._pool = urllib3.PoolManager(num_pools=1, maxsize=24, retries=False, **tls)
        self._pool.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
        self._streams: set[urllib3.BaseHTTPResponse] = set()
        self._headers = {"User-Agent": "muster"}
        if connection.token:
            self._headers["Authorization"] = f"Bearer {connection.token}"

    def close(self) -> None:
        """Drop idle connections and cut off streams, whose readers get `Unavailable`."""
        for response in list(self._streams):
            # One that has just ended has no socket any more.
            with suppress(ValueError, OSError, RuntimeError):
                response.shutdown()
        self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        query: Query = None,
        *,
        content: Content | None = None,
        read_timeout: float = 0,
        read: Callable[[urllib3.BaseHTTPResponse, float], Body] = read_whole,
    ) -> Body:
        """The body of a 2xx answer, which ends in time and is as long as `read` takes it."""
        seconds = read_timeout or self.connection.timeouts.read
        response = self._send(method, path, query, content=content, read_timeout=seconds)
        try:
            with self.translated(path):
                answer = read(response, PATIENCE * seconds)
        finally:
            response.release_conn()
        if response.status >= 300:
            raise self.error(response.status, answer, path)
        return answer

    @contextmanager
    def stream(self, path: str, query: Mapping[str, Any], *, read_timeout: float) -> Iterator[Iterator[bytes]]:
        """The chunks of an answer as they arrive; the connection is closed at the end."""
        response = self._send("GET", path, query, read_timeout=read_timeout)
        self._streams.add(response)
        try:
            with self.translated(path):
                if response.status >= 300:
                    raise self.error(response.status, response.read(65536), path)
                yield response.stream(65536)
        finally:
            self._streams.discard(response)
            response.close()

    def error(self, status: int, content: Body, path: str) -> GatewayError:
        """The error that an answer means."""
        try:
            answer = msgspec.json.decode(content, type=Status)
        except (msgspec.DecodeError, UnicodeDecodeError):
            answer = Status(message=content[:200].decode(errors="replace").strip())
        kind = error_class(status, answer)
        message = answer.message or f"HTTP {status}"
        if message.startswith("<"):
            message = f"A page came instead of an API server's answer (HTTP {status})."
        if 300 <= status < 400:
            message = f"The API server answered with a redirect (HTTP {status}), which is not followed."
        if kind is errors.TooLarge:
            message = f"The object is too large for the cluster: {message}"
        return kind(message[:2000], cluster=self.connection.name, target=path, status=status)

    @contextmanager
    def translated(self, path: str) -> Iterator[None]:
        """Turns what urllib3 and the operating system raise into `Unavailable`."""
        try:
            yield
        except (HTTPError, OSError) as error:
            raise Unavailable(_reason(error), cluster=self.connection.name, target=path) from error

    def _send(
        self, method: str, path: str, query: Query, *, content: Content | None = None, read_timeout: float = 0
    ) -> urllib3.BaseHTTPResponse:
        times = self.connection.timeouts
        content = content or Content()
        url = self.connection.server + quote(path, safe="/:%") + (f"?{urlencode(query)}" if query else "")
        with self.translated(path):
            return self._pool.request(
                method,
                url,
                body=None if content.body is None else msgspec.json.encode(content.body),
                headers={
                    **self._headers,
                    "Accept": content.accept,
                    "Accept-Encoding": content.encoding,
                    "Content-Type": content.type,
                },
                timeout=Timeout(connect=times.connect, read=read_timeout or times.read),
                redirect=False,
                retries=False,
                preload_content=False,
            )


_BY_STATUS: dict[int, type[GatewayError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotServed,
    409: errors.AlreadyChanged,
    410: errors.Gone,
    413: errors.TooLarge,
    429: errors.Unavailable,
}


def error_class(status: int, answer: Status) -> type[GatewayError]:
    """The class that fits an HTTP status and the Status object in its body. A 404 of somebody else, as of a proxy that
    has lost its way, says nothing of what is in the cluster."""
    causes = {cause.reason for cause in answer.details.causes} if answer.details else set()
    if status == 404 and answer.kind != "Status" and answer.message != UNKNOWN_PATH:
        return errors.NotApiServer
    if status == 404 and answer.details and answer.details.kind == "namespaces":
        return errors.NamespaceMissing
    if status == 403 and "NamespaceTerminating" in causes:
        return errors.NamespaceMissing
    if status == 409 and "FieldManagerConflict" in causes:
        return errors.FieldConflict
    if status >= 500:
        is_too_large = any(words in answer.message for words in TOO_LARGE)
        return errors.TooLarge if is_too_large else errors.Unavailable
    return _BY_STATUS.get(status, errors.Rejected)


def is_absent_object(error: GatewayError) -> bool:
    """Whether a 404 says that the object is absent (a Status), not that its kind is not served (plain text)."""
    return isinstance(error, errors.NotServed | errors.NamespaceMissing) and UNKNOWN_PATH not in error.message


def _reason(error: Exception) -> str:
    if isinstance(error, Endless):
        return f"What the API server says cannot be used: {error}."
    if isinstance(error, ProtocolError):
        return "The API server ended the connection before its answer was whole."
    text = str(getattr(error, "reason", None) or error)
    if told := tls_words(text):
        return told
    if isinstance(error, NewConnectionError):
        text = text.partition("): ")[2] or text  # without the connection's own name
    if isinstance(error, urllib3.exceptions.ReadTimeoutError | TimeoutError):
        return "The API server did not answer in time."
    return f"The API server cannot be reached: {text[:300]}"


def _checked(connection: HTTPConnection, sock: Any) -> Any:
    """The socket, unless it ended at an address that is not for API servers. Nothing was sent yet."""
    peer = sock.getpeername()[0]
    if is_refused(peer, connection.host):
        sock.close()
        # Said like a closed port, so that nobody can learn from it what listens there.
        message = f"Failed to establish a new connection: {ConnectionRefusedError(errno.ECONNREFUSED, REFUSED)}"
        raise NewConnectionError(connection, message)
    return sock


def _tls(connection: Connection) -> ssl.SSLContext:
    try:
        return _tls_context(connection)
    except (ValueError, OSError) as error:
        raise errors.BadCertificate(certificate_words(str(error)), cluster=connection.name) from error


def _tls_context(connection: Connection) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=connection.certificate_authority or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if connection.certificate:
        _load_client_certificate(context, f"{connection.certificate}\n{connection.key}\n".encode())
    return context


def _load_client_certificate(context: ssl.SSLContext, pem: bytes) -> None:
    """OpenSSL reads a key from a path only: give it one that lies in memory, never on disk."""
    descriptor = os.memfd_create("client-certificate")
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
