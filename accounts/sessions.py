"""Sessions of pages: begun at the sign-in; over after `SESSION_COOKIE_AGE` whatever happens, and earlier where an
idle time is set (`accounts.security`) and nobody used them for so long.

What a page fetches by itself (its stream, what that makes it fetch again, its timers) is no use of a session.
"""

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from accounts.models import User
from accounts.security import SHORTEST_MINUTES, idle_minutes

SEEN = "seen"
BY_ITSELF = "X-Live-Refresh"
# Use is noted this often at most: no idle time is shorter.
NOTED_SECONDS = SHORTEST_MINUTES * 60
_STREAM = "/live"


def begin_session(request: HttpRequest, user: User) -> None:
    """Sign `user` in: a new session with its end."""
    login(request, user)
    request.session[SEEN] = int(time.time())
    request.session.set_expiry(timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))


def is_idle(session: Mapping[str, Any]) -> bool:
    """Whether nobody used it for the idle time that holds now. A query where it was not used within a minute."""
    unused = _unused(session)
    if unused < NOTED_SECONDS:
        return False
    minutes = idle_minutes()
    return minutes is not None and unused >= minutes * 60


class IdleSessionMiddleware:
    """Ends a session that is idle for too long before anybody is answered by it; else notes that it is used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.user.is_authenticated and request.session.session_key:
            if is_idle(request.session):
                logout(request)
            elif not _by_itself(request) and _unused(request.session) >= NOTED_SECONDS:
                request.session[SEEN] = int(time.time())
        return self.get_response(request)


def _unused(session: Mapping[str, Any]) -> float:
    """Seconds since it was used; 0 of one that was not begun here."""
    return time.time() - session[SEEN] if SEEN in session else 0.0


def _by_itself(request: HttpRequest) -> bool:
    return request.path == _STREAM or BY_ITSELF in request.headers
