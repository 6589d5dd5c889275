"""How many tokens may be asked for in a minute, with right credentials too: per account, and per address for all of
them. Counted in this process, beside the count of failures that all processes share (`accounts.throttling`)."""

import time

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.exceptions import Throttled

from core.api.rates import Window

ADDRESS_FACTOR = 5
_accounts, _addresses = Window(), Window()


def count_request(account: str, address: str) -> None:
    """Count one request for a token. Raises `Throttled`: 429 with `Retry-After`."""
    limit: int = settings.TOKENS_PER_MINUTE
    now = time.time()
    by_account, left = _accounts.count(account.strip().lower(), now)
    by_address, _left = _addresses.count(address, now)
    if by_account > limit or by_address > ADDRESS_FACTOR * limit:
        raise Throttled(left, _("Too many tokens were asked for. Keep one for its life; it says when it ends."))
