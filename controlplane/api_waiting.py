"""`GET …/{id}/wait` and `…/{id}/watch`: wait until something holds of an object, or be told of its every change."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.db import connection
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import tokens
from accounts.authentication import TokenAuthentication
from accounts.models import User
from accounts.sessions import is_idle
from controlplane.leaving import left
from controlplane.live import Page, hub
from core.api.documenting import schema_of
from core.api.json_rendering import encode
from core.api.matching import tagged
from core.api.shapes import Accepted
from core.api.views import ApiView
from core.conditions import find as find_condition
from core.errors import InvalidInput, MusterError, NotFound
from core.live import row_topics
from core.models import DesiredState

LONGEST_WAIT = 300
LONGEST_WATCH = 3600
POLL_SECONDS = 0.5
# How often a stream asks again by itself: while it hears of changes, and while the broker is lost.
RECHECK_SECONDS, DEAF_SECONDS = 15.0, 2.0
# How often who waits is looked at again: their session or token, and their rights.
WHO_SECONDS = 5.0
MOST_WAITING = 64
FORMS = "condition=Ready, condition=Ready=False, phase=Running, delete"
_GOAL = {
    "type": "string",
    "pattern": "^(?:delete=?|phase=[^\\u0000]+|condition=[^=\\u0000]+(?:=(?:True|False|Unknown)?)?)$",
}
_SECONDS = {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "default": 60}
# The phases that say so of the kinds that have no condition of the type Ready: all but workloads.
READY_PHASES = ("Ready", "Connected")

DELETED = Accepted(code=200, message="It is deleted.")

Finder = Callable[[Request, str], tuple[DesiredState, Any]]
_places = threading.BoundedSemaphore(MOST_WAITING)


class TimeIsOver(exceptions.APIException):
    """What was waited for did not come true in time: 408."""

    status_code = 408
    default_code = "timeout"


class TooManyWaiting(exceptions.APIException):
    """Every place of this process is taken: 503, try again."""

    status_code = 503
    default_detail = f"{MOST_WAITING} requests wait already. Try again in a moment."
    default_code = "too_many_waiting"
    wait = 2.0


@dataclass(frozen=True, slots=True)
class Goal:
    """What is waited for. `kind`: condition, phase or delete."""

    kind: str
    name: str = ""
    value: str = ""

    def holds(self, row: DesiredState) -> bool:
        """Whether it does, of the state that was asked for last: a status of an older one says nothing."""
        if self.kind == "delete" or row.observed_generation < row.generation:
            return False
        if self.kind == "phase":
            return row.phase == self.value
        return self._status(row) == self.value

    def state(self, row: DesiredState) -> str:
        """What holds instead, in words: the phase, and the condition or every one that does not hold."""
        one = self.name and find_condition(row.conditions, self.name)
        told = [one] if one else [c for c in row.conditions if c["status"] != "True"]
        words = [f"{c['type']}={c['status']} ({c['reason']}): {c['message']}" for c in told]
        if self.name and self._status(row) is None:
            has = ", ".join(c["type"] for c in row.conditions) or "none"
            words.append(f"it has no condition {self.name}, but {has}")
        if row.observed_generation < row.generation:
            words.insert(0, "the last change is not reconciled yet")
        return "; ".join([f"phase {row.phase}", *words])

    def _status(self, row: DesiredState) -> str | None:
        """Of the condition that is waited for; None: the object has none of this type."""
        condition = find_condition(row.conditions, self.name)
        if condition is not None:
            return str(condition["status"])
        return ("True" if row.phase in READY_PHASES else "False") if self.name == "Ready" else None


class ObjectView(ApiView):
    """A view of one object; `finder` says which kind."""

    finder: Finder | None = None

    def _find(self, request: Request, pk: str) -> tuple[DesiredState, Any]:
        if self.finder is None:
            raise NotFound
        return self.finder(request, pk)


class WaitView(ObjectView):
    """Waits for one object, which is answered as its own GET does."""

    answers: Mapping[Any, Any] = {}
    errors: Mapping[int, str] = {408: "The time is over.", 503: "Too many wait already."}

    parameters = (
        OpenApiParameter("for", _GOAL, required=True, description=f"What to wait for: {FORMS}."),
        OpenApiParameter("timeout", _SECONDS, description=f"Seconds, 0 to {LONGEST_WAIT}."),
    )

    def get(self, request: Request, pk: str) -> Response:
        """The object as soon as `for` holds; 408 with what holds instead when the time is over."""
        row, shown = self._find(request, pk)
        goal, timeout = read_goal(request), read_timeout(request)
        if not _places.acquire(blocking=False):
            raise TooManyWaiting
        gone = left(request._request)
        try:
            begun = asked = time.monotonic()
            while not goal.holds(row):
                now = time.monotonic()
                rest = begun + timeout - now
                if rest <= 0 or gone.wait(min(POLL_SECONDS, rest)):
                    raise TimeIsOver(f"After {timeout} s it is not so: {goal.state(row)}")
                if now - asked >= WHO_SECONDS:
                    request.user, asked = _still(request), now
                row, shown = self._find(request, pk)
        except NotFound:
            # Absent and invisible are alike, but only one of them is what was waited for.
            if goal.kind != "delete" or type(row)._default_manager.filter(pk=row.pk).exists():
                raise
            return Response(DELETED)
        finally:
            _places.release()
        return tagged(row, shown)


def waiting_view(finder: Finder, shape: Any) -> Callable[..., Any]:
    """The view that waits for an object of a kind, which is answered in `shape`; or says that it is deleted."""
    either = {"oneOf": [schema_of(shape), schema_of(Accepted)]}
    return WaitView.as_view(finder=finder, gives={"get": shape}, answers={200: either})


class WatchView(ObjectView):
    """Streams one object."""

    answers: Mapping[Any, Any] = {(200, "text/event-stream"): OpenApiTypes.STR}

    def get(self, request: Request, pk: str) -> StreamingHttpResponse:
        """Server-sent events: the object now and after each change; `event: gone` at its end. For an hour at most."""
        row, _shown = self._find(request, pk)
        page = Page(
            frozenset({row_topics(row._meta.label, row.pk)[1]}), row_topics(User._meta.label, request.user.pk)[1]
        )

        def load() -> str | None:
            if self.place is not None:
                self.place.renew()
            try:
                request.user = _still(request)
                return encode(self._find(request, pk)[1]).decode()
            except (MusterError, exceptions.APIException):
                return None
            finally:
                connection.close()

        answer = StreamingHttpResponse(changes(load, page), content_type="text/event-stream")
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["X-Accel-Buffering"] = "no"
        return answer

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Whatever the client says that it accepts: it asked for a stream."""
        return super().perform_content_negotiation(request, force=True)


async def changes(load: Callable[[], str | None], page: Page) -> AsyncIterator[str]:
    """The events of one object. `load()` gives it as JSON, None when it is gone or may not be seen any more."""
    ours, end, told = hub(), time.monotonic() + LONGEST_WATCH, ""
    ask = sync_to_async(load, thread_sensitive=False)
    await ours.join(page)
    try:
        while time.monotonic() < end:
            found = await ask()
            if found is None:
                yield "event: gone\ndata: {}\n\n"
                return
            yield ": alive\n\n" if found == told else f"data: {found}\n\n"
            told = found
            await page.wait(RECHECK_SECONDS if ours.connected else DEAF_SECONDS)
            page.take()
            await asyncio.sleep(0.1)  # changes in one breath are one event
    finally:
        ours.leave(page)


def _still(request: Request) -> User:
    """Who asks, with the rights and the token or session that hold now. Raises `AuthenticationFailed`."""
    if isinstance(request.user, User):
        tokens.forget(request.user.pk)  # what was read of them says nothing of now
    found = TokenAuthentication().authenticate(request)
    if found is not None:
        return found[0]
    plain = request._request
    plain.session = type(plain.session)(plain.session.session_key)  # nor what was read of it
    user = get_user(plain)
    if not isinstance(user, User) or is_idle(plain.session):
        raise exceptions.NotAuthenticated
    return user


def read_goal(request: Request) -> Goal:
    """`for`. Raises `InvalidInput`."""
    text = request.query_params.get("for", "")
    kind, _equals, rest = text.partition("=")
    if kind == "delete" and not rest:
        return Goal("delete")
    if kind == "phase" and rest:
        return Goal("phase", value=rest)
    name, _equals, value = rest.partition("=")
    if kind == "condition" and name and value in ("", "True", "False", "Unknown"):
        return Goal("condition", name, value or "True")
    message = f"{text[:60]!r} cannot be waited for" if text else "Required parameter is missing"
    raise InvalidInput.of("for", message, FORMS)


def read_timeout(request: Request) -> int:
    """`timeout`, as `60` or `60s`. Raises `InvalidInput`."""
    text = request.query_params.get("timeout", "60").removesuffix("s")
    if text.isascii() and text.isdigit() and len(text) < 5 and int(text) <= LONGEST_WAIT:
        return int(text)
    raise InvalidInput.of("timeout", f"{text[:20]!r} is not a time to wait", f"0 to {LONGEST_WAIT} seconds")
