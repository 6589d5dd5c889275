"""How many requests a person or key may send: a fixed window of a minute, counted in this process.

Several web processes count for themselves: the limit protects each of them, it is no bill.
"""

import threading
import time
from collections import Counter
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

WINDOW_SECONDS = 60


class Window:
    """The requests of the current minute by subject. It starts anew with each minute, so it can't grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = -1
        self._counts: Counter[str] = Counter()

    def count(self, subject: str, now: float) -> tuple[int, int]:
        """(requests of `subject` in this window with this one, seconds until the next window)."""
        minute, second = divmod(int(now), WINDOW_SECONDS)
        with self._lock:
            if minute != self._minute:
                self._minute = minute
                self._counts.clear()
            self._counts[subject] += 1
            return self._counts[subject], WINDOW_SECONDS - second


_window = Window()


class RateLimit(BaseThrottle):
    """`MUSTER_API_REQUESTS_PER_MINUTE` for each person and each key; every answer says what is left."""

    reset = 0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request is within the limit. Who is not signed in is not counted here, but by address there."""
        if not request.user.is_authenticated:
            return True
        limit: int = settings.API_REQUESTS_PER_MINUTE
        sent, self.reset = _window.count(subject_of(request), time.time())
        view.rate_headers = {
            "RateLimit-Limit": str(limit),
            "RateLimit-Remaining": str(max(0, limit - sent)),
            "RateLimit-Reset": str(self.reset),
        }
        return sent <= limit

    def wait(self) -> float:
        """Seconds until the next window."""
        return float(self.reset)


def subject_of(request: Request) -> str:
    """Who asks: the person, and the key that the token was given for. The same after a token was renewed."""
    return f"{request.user.pk}/{getattr(request.auth, 'client_id', '')}"
