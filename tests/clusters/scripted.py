"""An API server that answers exactly what a test scripts: for what goes wrong on the wire."""

import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from simulator.api.certificates import Certificates

Answer = Callable[["Exchange"], None]


class Exchange:
    """One request and the means to answer it, well or badly."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.handler = handler
        self.method = handler.command
        parts = urlsplit(handler.path)
        self.path = parts.path
        self.query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.headers = dict(handler.headers.items())

    def json(self, body: Any, status: int = 200) -> None:
        self.raw(json.dumps(body).encode(), status)

    def raw(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(content)

    def page(self, items: list[Any], version: str, more: str = "") -> None:
        self.json({"kind": "List", "metadata": {"resourceVersion": version, "continue": more}, "items": items})

    def error(self, status: int, reason: str, message: str = "no") -> None:
        self.json({"kind": "Status", "code": status, "reason": reason, "message": message}, status)

    def events(self, *events: tuple[str, Any], end: bool = True) -> None:
        """A chunked watch; without `end` it stays open."""
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", "application/json")
        self.handler.send_header("Transfer-Encoding", "chunked")
        self.handler.end_headers()
        for type_, item in events:
            line = json.dumps({"type": type_, "object": item}).encode() + b"\n"
            self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.handler.wfile.flush()
        if end:
            self.handler.wfile.write(b"0\r\n\r\n")

    def break_off(self, sent: bytes = b"") -> None:
        """Promise more than is sent, and close."""
        self.handler.send_response(200)
        self.handler.send_header("Content-Length", "100000")
        self.handler.end_headers()
        self.handler.wfile.write(sent)
        self.handler.close_connection = True


class _Server(ThreadingHTTPServer):
    """Ends with its connections, which clients keep open for their next request: no thread outlives it."""

    daemon_threads = False

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[Any] = set()
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is what these tests are about."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        for request in list(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)
        super().server_close()


class ScriptedServer:
    """Answers the n-th request with the n-th answer of the script, and the last one from then on; over TLS where it is
    given certificates."""

    def __init__(self, *answers: Answer, certificates: Certificates | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self.open_watches = 0
        self.closing = threading.Event()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                exchange = Exchange(self)
                exchange.body = self.rfile.read(length)  # type: ignore[attr-defined]
                with script._lock:
                    index = len(script.exchanges)
                    script.exchanges.append(exchange)
                answers[min(index, len(answers) - 1)](exchange)

            do_GET = do_POST = do_PATCH = do_DELETE = do

            def log_message(self, *args: Any) -> None:
                pass

        self._lock = threading.Lock()
        self._server = _Server(Handler)
        self.url = f"http{'s' if certificates else ''}://127.0.0.1:{self._server.server_port}"
        if certificates:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificates.certificate, certificates.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._serving = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._serving.start()

    def hold(self, exchange: Exchange) -> None:
        """Keep the connection open and silent until the server closes."""
        self.closing.wait(30)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._serving.join()
