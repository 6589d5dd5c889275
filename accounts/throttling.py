"""Slows guessing of passwords and secrets: a bounded number of failures per account and per address.

Kept in the database, so that all web processes count together and a restart forgets nothing. Subjects are hashed.
An attempt counts before it is looked at and is forgiven when it was right: many at once get no more tries than one
after the other.
"""

import hashlib
from collections.abc import Collection
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import SignInFailures
from core.errors import MusterError

WINDOW = timedelta(minutes=15)
PER_ACCOUNT = 10
PER_ADDRESS = 50


class TooManyFailures(MusterError):
    """429: wait until the window of the failures has passed."""

    code = 429
    reason = "TooManyFailures"


def count_attempt(account: str, address: str) -> None:
    """Count an attempt for the account and the address. Raises `TooManyFailures` where one of them has failed too often
    within the window. Call outside of a transaction that may be undone."""
    counted: list[str] = []
    for key, limit in _keys(account, address):
        if not _count(key, limit):
            _take_back(counted)
            minutes = int(WINDOW.total_seconds() // 60)
            raise TooManyFailures(
                _("Too many failed attempts. Try again in %(minutes)d minutes.") % {"minutes": minutes}
            )
        counted.append(key)


def forgive(account: str, address: str) -> None:
    """The attempt was right: the account's failures are forgotten, the address keeps all but this one."""
    SignInFailures.objects.filter(key=_key("account", account)).delete()
    _take_back([_key("address", address)])


def _count(key: str, limit: int) -> bool:
    """One more, unless there are `limit` within the window. One guarded UPDATE or one INSERT decides."""
    now = timezone.now()
    row = SignInFailures.objects.filter(key=key)
    row.filter(until__lte=now).delete()
    if row.filter(count__lt=limit).update(count=F("count") + 1):
        return True
    if row.exists():
        return False
    try:
        with transaction.atomic():
            SignInFailures.objects.create(key=key, count=1, until=now + WINDOW)
    except IntegrityError:  # another request was first with the same key
        return row.filter(count__lt=limit).update(count=F("count") + 1) == 1
    return True


def _take_back(keys: Collection[str]) -> None:
    SignInFailures.objects.filter(key__in=keys, count__gt=0).update(count=F("count") - 1)


def _keys(account: str, address: str) -> list[tuple[str, int]]:
    return [(_key("account", account), PER_ACCOUNT), (_key("address", address), PER_ADDRESS)]


def _key(kind: str, subject: str) -> str:
    return hashlib.sha256(f"{kind}:{subject.strip().lower()}".encode()).hexdigest()
