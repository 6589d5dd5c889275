"""Reads the body of an answer within bounds: whatever answers there, it can neither fill the memory nor hold whoever
reads it for ever."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

from urllib3 import BaseHTTPResponse, HTTPResponse

CHUNK = 1024 * 1024
MAX_TEXT = 8 * 1024 * 1024
# An object of etcd is 1.5 MB at most, and a page of a list holds 500: what is longer is no answer to what was asked.
MAX_ANSWER = 32 * 1024 * 1024
MAX_PAGE = 768 * 1024 * 1024
MAX_LINE = MAX_ANSWER

TOO_LONG = "its answer is too long"
TOO_LATE = "its answer did not end in time"


class Endless(OSError):
    """An answer that is longer, or takes longer, than anything that was asked for."""


def read_whole(response: BaseHTTPResponse, *, longest: int, seconds: float) -> bytes:
    """The body, of `longest` bytes at most, which ends within `seconds`. Raises `Endless`, and what urllib3 raises.

    One of a length that is known is read at once, while a timer waits to cut it off: piece by piece, a list of 300 MiB
    over TLS costs two and a half times the CPU (20,000 pieces).
    """
    length = response.headers.get("Content-Length", "")
    if not isinstance(response, HTTPResponse) or "Content-Encoding" in response.headers or not length.isdigit():
        return b"".join(_chunks(response, longest, monotonic() + seconds))
    if int(length) > longest:
        response.close()
        raise Endless(TOO_LONG)
    return _at_once(response, seconds)


def _at_once(response: HTTPResponse, seconds: float) -> bytes:
    late = threading.Event()

    def cut_off() -> None:
        late.set()
        with suppress(RuntimeError):  # it ended in this moment
            response.shutdown()

    timer = threading.Timer(seconds, cut_off)
    timer.daemon = True
    timer.start()
    try:
        return response.read()
    except Exception as error:
        if late.is_set():
            raise Endless(TOO_LATE) from error
        raise
    finally:
        timer.cancel()


def _chunks(response: BaseHTTPResponse, longest: int, deadline: float) -> Iterator[bytes]:
    """What is not read to its end is not used again: the connection is closed."""
    size = 0
    while chunk := response.read1(CHUNK):
        size += len(chunk)
        if size > longest or monotonic() > deadline:
            response.close()
            raise Endless(TOO_LONG if size > longest else TOO_LATE)
        yield chunk


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of a stream, of `MAX_LINE` bytes at most; empty ones are left out. Raises `Endless`."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)
        if len(rest) > MAX_LINE:
            raise Endless("one of its events is too long")
    if rest.strip():
        yield rest
