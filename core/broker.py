"""The connection to Redis or Valkey. It carries hints and counts only: a lost broker costs little time, raises nothing.

After a failure the broker counts as lost for a few seconds: no request waits for it more than once.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisError
from redis.retry import Retry

log = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 0.5
LOST_SECONDS = 5.0

_lost_until = 0.0


@cache
def _connection(url: str) -> Redis:
    return Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        # Once more on a connection that the other side has closed; never on one that is slow.
        retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
    )


def is_lost() -> bool:
    """Whether the broker failed in the last seconds; then it is not asked again yet."""
    return time.monotonic() < _lost_until


def note_lost(error: Exception, what: str) -> None:
    """Remember that the broker failed. `what` was not sent."""
    global _lost_until  # noqa: PLW0603 (one state of the process)
    _lost_until = time.monotonic() + LOST_SECONDS
    log.info("broker unreachable", undelivered=what, error=str(error))


def note_found() -> None:
    """Forget a failure: the broker answered."""
    global _lost_until  # noqa: PLW0603 (one state of the process)
    _lost_until = 0.0


def publish(channel: str, message: str) -> bool:
    """Send `message` to the subscribers of `channel`. False: the broker is lost and nobody heard it."""
    if is_lost():
        return False
    try:
        _connection(settings.REDIS_URL).publish(channel, message)
    except (RedisError, OSError) as error:
        note_lost(error, channel)
        return False
    return True


def ask(question: Callable[[Redis], Any], what: str) -> Any:
    """What the broker answers to `question`. None: it is lost, and was not asked `what`."""
    if is_lost():
        return None
    try:
        return question(_connection(settings.REDIS_URL))
    except (RedisError, OSError) as error:
        note_lost(error, what)
        return None


def is_alive() -> bool:
    """Ask the broker now, whatever happened before. Takes at most about a second."""
    try:
        _connection(settings.REDIS_URL).ping()
    except (RedisError, OSError):
        return False
    note_found()
    return True
