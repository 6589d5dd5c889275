"""ETags and If-Match: an edit of what was read, not of what somebody else has made of it meanwhile.

The tag is the row's generation, which rises with every change of its spec; status does not touch it. What has none
(people, keys, rules, roles, credentials, reports) has a digest of what is shown of it, but for when it was last used.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.json_rendering import encode
from core.errors import Stale
from core.models import DesiredState
from core.tenant_settings import REQUIRE_MATCH, is_on

# The official client of Run:ai knows no ETags; everybody else can send one.
_OFFICIAL_CLIENT = "runai-api-client-python/"
_OF_USE = frozenset({"lastLogin"})
# In each round one of those who write the same object is through: so many at once all are in the end.
MOST_ROUNDS = 20
Tagged = DesiredState | Mapping[str, Any]
View = Callable[..., Response]


class PreconditionRequired(exceptions.APIException):
    """A write that must say which state it changes does not: 428 (RFC 6585)."""

    status_code = 428
    default_detail = "Send If-Match with the ETag of the object that you read, or If-Match: * to overwrite any."
    default_code = "precondition_required"


def etag_of(row: Tagged) -> str:
    """The ETag header of a row, or of the JSON that shows one."""
    if isinstance(row, DesiredState):
        return f'"{row.generation}"'
    shown = {key: value for key, value in row.items() if key not in _OF_USE}
    return f'"{hashlib.sha256(encode(shown)).hexdigest()[:16]}"'


def tagged(row: Tagged, body: Any) -> Response:
    """An answer that shows `row` as `body`, with its ETag."""
    return Response(body, headers={"ETag": etag_of(row)})


def check_match(request: Request, row: Tagged, *, needed: bool = False) -> None:
    """Hold the request's `If-Match` against the row. Raises `Stale` (412); `PreconditionRequired` where it is
    `needed` and absent, but for the official client and where the setting `api.require-if-match` is off."""
    given = request.headers.get("If-Match")
    if given is None:
        official = request.headers.get("User-Agent", "").startswith(_OFFICIAL_CLIENT)
        if needed and not official and is_on(REQUIRE_MATCH):
            raise PreconditionRequired
        return
    if given.strip() != "*" and etag_of(row) not in (tag.strip() for tag in given.split(",")):
        raise Stale(_("The object was changed since it was read: it is at %(etag)s now.") % {"etag": etag_of(row)})


def in_turn(view: View) -> View:
    """`view`, done anew where somebody else wrote the object between its being read and written: who names no state
    with `If-Match` asked for none, and is not to be refused because of one."""

    def run(request: Request, *args: Any, **kwargs: Any) -> Response:
        rounds = MOST_ROUNDS if request.headers.get("If-Match", "*").strip() == "*" else 1
        for _round in range(rounds - 1):
            try:
                return view(request, *args, **kwargs)
            except Stale:
                continue
        return view(request, *args, **kwargs)

    return run
