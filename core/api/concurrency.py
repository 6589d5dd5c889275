"""How many requests of one person or key may run at once, streams included: a set of places in the broker, which all
web processes share.

A place is leased, so that one of a process that died is free again. Without a broker nobody is counted, and the log
says so: a limit is no reason to refuse everybody.
"""

import uuid
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.utils.translation import gettext as _
from redis import Redis
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core import broker
from core.api.rates import subject_of

log = structlog.get_logger(__name__)

# Longer than a request lasts that waits for something; a stream renews its lease.
LEASE_SECONDS = 330
RETRY_SECONDS = 1.0
_TAKE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
"""
_RENEW = """
redis.call('ZADD', KEYS[1], 'XX', tonumber(redis.call('TIME')[1]) + tonumber(ARGV[1]), ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
"""


class TooManyAtOnce(exceptions.Throttled):
    """As many requests of this person or key as may run at once are running: 429."""

    def __init__(self, limit: int) -> None:
        super().__init__(RETRY_SECONDS)
        self.detail = exceptions.ErrorDetail(
            _("%(n)d requests of yours are running, which is as many as may at once. Try again when one has ended.")
            % {"n": limit},
            self.default_code,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """One of the places of a subject, taken by one request."""

    key: str
    holder: str

    def release(self) -> None:
        """Free it."""
        _ask("ZREM", self.key, self.holder)

    def renew(self) -> None:
        """Hold it for another lease, from now on."""
        _ask("EVAL", _RENEW, 1, self.key, LEASE_SECONDS, self.holder)


class _Log:
    """What was said last, so that an outage is told once and not with every request."""

    uncounted = False


def take_place(subject: str, limit: int) -> Place | None:
    """A place of `subject`, of which there are `limit`; None where the broker is lost. Raises `TooManyAtOnce`."""
    place = Place(f"muster:running:{subject}", uuid.uuid4().hex)
    taken = _ask("EVAL", _TAKE, 1, place.key, limit, LEASE_SECONDS, place.holder)
    if taken is None:
        if not _Log.uncounted:
            log.warning("requests at once are not limited: the broker is lost")
        _Log.uncounted = True
        return None
    _Log.uncounted = False
    if not taken:
        raise TooManyAtOnce(limit)
    return place


class AtOnce(BaseThrottle):
    """`MUSTER_API_CONCURRENT_REQUESTS` for each person and each key; the view gives its `place` back at the end."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """True, or `TooManyAtOnce`. Who is not signed in is not counted here, but by address there."""
        limit: int = settings.API_CONCURRENT_REQUESTS
        if limit and request.user.is_authenticated:
            view.place = take_place(subject_of(request), limit)
        return True


def _ask(*command: Any) -> Any:
    def ask(connection: Redis) -> Any:
        return connection.execute_command(*command)  # type: ignore[no-untyped-call]  # of redis

    return broker.ask(ask, "the count of requests at once")
