"""Reads the body of an answer within bounds: whatever answers there, it can neither fill the memory nor hold whoever
reads it for ever."""

from collections.abc import Iterator
from time import monotonic

from urllib3 import BaseHTTPResponse

CHUNK = 1024 * 1024
MAX_TEXT = 8 * 1024 * 1024
# An object of etcd is 1.5 MB at most, and a page of a list holds 500: what is longer is no answer to what was asked.
MAX_ANSWER = 32 * 1024 * 1024
MAX_PAGE = 768 * 1024 * 1024
MAX_LINE = MAX_ANSWER


class Endless(OSError):
    """An answer that is longer, or takes longer, than anything that was asked for."""


def read_whole(response: BaseHTTPResponse, *, longest: int, seconds: float) -> bytes:
    """The body, of `longest` bytes at most, which ends within `seconds`. Raises `Endless`, and what urllib3 raises."""
    return b"".join(_chunks(response, longest, monotonic() + seconds))


def _chunks(response: BaseHTTPResponse, longest: int, deadline: float) -> Iterator[bytes]:
    """What is not read to its end is not used again: the connection is closed."""
    size = 0
    while chunk := response.read1(CHUNK):
        size += len(chunk)
        if size > longest or monotonic() > deadline:
            response.close()
            raise Endless("its answer is too long" if size > longest else "its answer did not end in time")
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
