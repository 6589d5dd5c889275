"""Who makes a request, and from where."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from accounts.audit import Actor, Attempt
from accounts.models import AccessKey, User, UserKind
from core.api import runai
from core.errors import NotPermitted


def actor_of(request: HttpRequest | Request) -> Actor:
    """The signed-in person behind a request, as services and the audit take it. `source` is `page` or `api`."""
    user = request.user
    if not isinstance(user, User):
        raise NotPermitted("sign-in")
    plain = request._request if isinstance(request, Request) else request
    key = request.auth if isinstance(request, Request) else None
    return Actor(
        user,
        source_of(plain),
        address_of(plain),
        getattr(plain, "request_id", ""),
        plain.method or "",
        plain.path,
        key.expires_at if isinstance(key, AccessKey) else None,
    )


def attempt_of(request: HttpRequest | Request, subject: str, subject_type: str = UserKind.PERSON) -> Attempt:
    """Somebody who is not signed in (yet) and gives themselves out as `subject`."""
    plain = request._request if isinstance(request, Request) else request
    return Attempt(
        subject=subject[:254],
        subject_type=subject_type,
        source=source_of(plain),
        address=address_of(plain),
        request_id=getattr(plain, "request_id", ""),
        method=plain.method or "",
        path=plain.path,
    )


def source_of(request: HttpRequest) -> str:
    """`page` or `api`."""
    return "api" if request.path.startswith(runai.PREFIXES) else "page"


def address_of(request: HttpRequest) -> str:
    """The client's address. `X-Forwarded-For` counts only as far as MUSTER_TRUSTED_PROXIES hops added to it."""
    address = str(request.META.get("REMOTE_ADDR", ""))
    hops = settings.TRUSTED_PROXIES
    if hops:
        forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
        if len(forwarded) >= hops:
            address = _ip_of(forwarded[-hops]) or address
    return address[:45]


def _ip_of(text: str) -> str:
    """The address in what a proxy added, some with a port; "" where there is none."""
    host = text[1:].partition("]")[0] if text.startswith("[") else text
    host = host.partition(":")[0] if host.count(":") == 1 else host
    try:
        return str(ip_address(host))
    except ValueError:
        return ""
