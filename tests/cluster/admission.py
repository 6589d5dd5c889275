"""A validating webhook on this machine that refuses everything it is asked about, as an operator's does."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.cluster.running import HOST, RealCluster


@contextmanager
def refusing(cluster: RealCluster, message: str) -> Iterator[dict[str, Any]]:
    """The `clientConfig` of a webhook that denies with 403 and this message, as controller-runtime's `Denied` does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = {"code": 403, "reason": "Forbidden", "message": message}
            response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
            body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is to be printed."""

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cluster.certificates.certificate, cluster.certificates.key)
    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        authority = base64.b64encode(cluster.certificates.authority_text.encode()).decode()
        try:
            yield {"url": f"https://{HOST}:{server.server_port}/", "caBundle": authority}
        finally:
            server.shutdown()
            thread.join(5)
