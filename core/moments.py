"""How a moment is written for others: RFC 3339 in UTC with a Z, as Kubernetes and Run:ai's API have it. Pure."""

from datetime import UTC, datetime
from typing import Literal, overload

Timespec = Literal["seconds", "microseconds"]


@overload
def rfc3339(moment: datetime, timespec: Timespec = ...) -> str: ...
@overload
def rfc3339(moment: None, timespec: Timespec = ...) -> None: ...
def rfc3339(moment: datetime | None, timespec: Timespec = "seconds") -> str | None:
    """`2026-11-30T01:02:03Z`; no moment stays none. What is finer than `timespec` is cut. Takes any zone but none."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"
