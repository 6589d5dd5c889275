"""A child process: an API server that lists stored pods and replays changes of them, as fast as possible or paced.

`python -m tests.bench.replay PAGES EVENTS RATE`: RATE events a second, 0 for no pause; says where it listens. After
the last event it writes `PAGES.sent`: uid and moment (monotonic clock, one for all processes) of each.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec

FIRST_VERSION = 10_000_000
TICK = 0.01
SILENT_SECONDS = 20
_VERSION = re.compile(rb'"resourceVersion":"\d+"')


class _Meta(msgspec.Struct):
    uid: str


class _Pod(msgspec.Struct):
    metadata: _Meta


class _List(msgspec.Struct):
    items: list[msgspec.Raw]


def events(pages: Path, count: int) -> Iterator[tuple[str, bytes]]:
    """uid and line of MODIFIED events of pods in a queue, each with a version of its own, one pod after another."""
    pods = [
        bytes(raw)
        for page in sorted(pages.iterdir())
        for raw in msgspec.json.decode(page.read_bytes(), type=_List).items
        if b'"kai.scheduler/queue"' in bytes(raw)
    ]
    for number, pod in enumerate(islice(cycle(pods), count)):
        changed = _VERSION.sub(b'"resourceVersion":"%d"' % (FIRST_VERSION + number), pod, count=1)
        uid = msgspec.json.decode(pod, type=_Pod).metadata.uid
        yield uid, b'{"type":"MODIFIED","object":' + changed + b"}\n"


class Handler(BaseHTTPRequestHandler):
    """Answers lists with an empty page and watches from the beginning with the whole replay; others stay silent."""

    protocol_version = "HTTP/1.1"
    lines: list[tuple[str, bytes]]
    rate: float
    sent: Path

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "watch" not in query:
            page = {"kind": "PodList", "metadata": {"resourceVersion": str(FIRST_VERSION - 1)}, "items": []}
            self._answer(json.dumps(page).encode())
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if query["resourceVersion"] != [str(FIRST_VERSION - 1)]:
            time.sleep(SILENT_SECONDS)
        elif self.rate:
            self._paced()
        else:
            for start in range(0, len(self.lines), 50):
                self._chunk(b"".join(line for _uid, line in self.lines[start : start + 50]))
        self.wfile.write(b"0\r\n\r\n")

    def _paced(self) -> None:
        began, moments = time.monotonic(), []
        done = 0
        while done < len(self.lines):
            now = time.monotonic()
            due = min(len(self.lines), int((now - began) * self.rate))
            if due > done:
                self._chunk(b"".join(line for _uid, line in self.lines[done:due]))
                moments += [(uid, now) for uid, _line in self.lines[done:due]]
            done = due
            time.sleep(TICK)
        self.sent.write_text(json.dumps(moments))

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def main(pages: Path, count: int, rate: float) -> None:
    Handler.lines, Handler.rate, Handler.sent = list(events(pages, count)), rate, pages.with_suffix(".sent")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
