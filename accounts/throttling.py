"""Slows guessing of passwords and secrets: a bounded number of failures per account and per address.

Kept in the database, so that all web processes count together and a restart forgets nothing. Subjects are hashed.
"""

import hashlib
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


def check_allowed(account: str, address: str) -> None:
    """Raise `TooManyFailures` where this account or this address failed too often within the window."""
    keys = dict(_keys(account, address))
    rows = SignInFailures.objects.filter(key__in=keys, until__gt=timezone.now())
    if any(row.count >= keys[row.key] for row in rows):
        minutes = int(WINDOW.total_seconds() // 60)
        raise TooManyFailures(_("Too many failed attempts. Try again in %(minutes)d minutes.") % {"minutes": minutes})


def note_failure(account: str, address: str) -> None:
    """Count one failure for the account and the address."""
    now = timezone.now()
    for key, _limit in _keys(account, address):
        SignInFailures.objects.filter(key=key, until__lte=now).delete()
        if SignInFailures.objects.filter(key=key).update(count=F("count") + 1):
            continue
        try:
            with transaction.atomic():
                SignInFailures.objects.create(key=key, count=1, until=now + WINDOW)
        except IntegrityError:  # another process was first with the same key
            SignInFailures.objects.filter(key=key).update(count=F("count") + 1)


def forget_failures(account: str) -> None:
    """A successful sign-in clears the account's own count; the address keeps its."""
    SignInFailures.objects.filter(key=_key("account", account)).delete()


def _keys(account: str, address: str) -> list[tuple[str, int]]:
    return [(_key("account", account), PER_ACCOUNT), (_key("address", address), PER_ADDRESS)]


def _key(kind: str, subject: str) -> str:
    return hashlib.sha256(f"{kind}:{subject.strip().lower()}".encode()).hexdigest()
