"""Reads the body of an answer within bounds: whatever answers there, it can neither fill the memory nor hold whoever
reads it for ever."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

import deflate
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import DecodeError, HTTPError

PIECE = 64 * 1024
MAX_TEXT = 8 * 1024 * 1024
# An object of etcd is 1.5 MB at most, and a page of a list holds 500: what is longer is no answer to what was asked.
MAX_ANSWER = 32 * 1024 * 1024
MAX_PAGE = 768 * 1024 * 1024
MAX_LINE = MAX_ANSWER
COMPRESSION = "gzip"
SIZE_BYTES = 4
"""What gzip ends with: how long the text is, little-endian."""
GATHER_SECONDS = 0.05
"""An API server sends what it compresses in pieces of 4 KiB as they are made. To wake up for each costs five times what
it costs to read them once they are there."""

Body = bytes | bytearray

TOO_LONG = "its answer is too long"
TOO_LATE = "its answer did not end in time"


class Endless(OSError):
    """An answer that is longer, or takes longer, than anything that was asked for."""


def read_whole(response: BaseHTTPResponse, seconds: float) -> bytes:
    """The body, of `MAX_ANSWER` bytes at most, which ends within `seconds`. Raises `Endless`, and what urllib3 raises.

    It is read piece by piece: what is not read to its end is not used again, the connection is closed.
    """
    deadline = monotonic() + seconds
    pieces, size = [], 0
    while piece := response.read1(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER or monotonic() > deadline:
            response.close()
            raise Endless(TOO_LONG if size > MAX_ANSWER else TOO_LATE)
    return b"".join(pieces)


def read_page(response: BaseHTTPResponse, seconds: float) -> Body:
    """The body of a page of a list, as `read_whole`, of `MAX_PAGE` bytes at most.

    It is read in one call, while a timer waits to cut it off: over TLS, pieces of 16 KiB cost twice the CPU. What came
    compressed is unpacked, within the same bound.
    """
    is_compressed = response.headers.get("Content-Encoding") == COMPRESSION
    late = threading.Event()
    timer = threading.Timer(seconds, _cut_off, [response, late])
    timer.daemon = True
    timer.start()
    try:
        if is_compressed:
            late.wait(GATHER_SECONDS)
        body = response.read(MAX_PAGE + 1, decode_content=False)
        if len(body) <= MAX_PAGE:
            response.read(1, decode_content=False)  # raises where the body ended before its length
    except (HTTPError, OSError) as error:
        raise (Endless(TOO_LATE) if late.is_set() else error) from error
    finally:
        timer.cancel()
    if late.is_set() or len(body) > MAX_PAGE:  # what has no length ends by being cut off
        response.close()
        raise Endless(TOO_LATE if late.is_set() else TOO_LONG)
    return _unpacked(body) if is_compressed else body


def _unpacked(body: bytes) -> bytearray:
    """Room for all of it is taken at once, and it never grows beyond. Raises `Endless` where it would be longer than a
    page, and `DecodeError` where it is damaged."""
    size = int.from_bytes(body[-SIZE_BYTES:], "little")
    if size > MAX_PAGE:
        raise Endless(TOO_LONG)
    try:
        return deflate.gzip_decompress(body, size)
    except (deflate.DeflateError, ValueError) as error:
        raise DecodeError(f"a compressed answer cannot be unpacked: {error}") from error


def _cut_off(response: BaseHTTPResponse, late: threading.Event) -> None:
    late.set()
    with suppress(RuntimeError, ValueError):  # it ended in this moment
        response.shutdown()


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
