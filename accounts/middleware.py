"""Pages are for people who are signed in, unless a view says otherwise; what they are refused is on record."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import activate, get_language
from django.utils.translation import gettext as _

from accounts.audit import record_attempt
from accounts.models import User
from accounts.requests import attempt_of
from core.api import runai
from core.api.errors import status_body

WRITES = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Sends the browser to the sign-in page; a fragment that htmx asked for sends the whole page there, to come back to
    that page and not to the fragment."""

    def handle_no_permission(  # type: ignore[override]  # not always a redirect
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        answer = super().handle_no_permission(request, view_func)
        if "HX-Request" not in request.headers:
            return answer
        back = redirect_to_login(_page_of(request), self.get_login_url(view_func))
        return HttpResponse(status=401, headers={"HX-Redirect": back.headers["Location"]})


def _page_of(request: HttpRequest) -> str:
    """The page that a fragment was asked for by, without its host."""
    try:
        page = urlsplit(request.headers.get("HX-Current-URL", ""))
    except ValueError:
        return "/"
    return urlunsplit(("", "", page.path, page.query, "")) if page.path.startswith("/") else "/"


class AccountLanguageMiddleware:
    """Answers in the language that the person has chosen, whichever browser they use; else in the browser's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = request.user
        if isinstance(user, User) and user.language and user.language != get_language():
            activate(user.language)
            request.LANGUAGE_CODE = user.language  # as Django's own middleware does
        return self.get_response(request)


class RefusalsMiddleware:
    """Writes an entry of the audit log for every write that somebody signed in was not permitted (403)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        user = getattr(request, "user", None)
        if answer.status_code == 403 and request.method in WRITES and isinstance(user, User):
            data = getattr(answer, "data", None)
            said = data.get("message", "") if isinstance(data, dict) else getattr(request, "refusal", "")
            reason = str(said or _("Not permitted"))
            record_attempt(attempt_of(request, user.email, user.kind), WRITES[request.method], reason=reason)
        return answer


class TemporaryPasswordMiddleware:
    """Sends who signed in with a temporary password to the page where they choose their own, and nowhere else."""

    ALLOWED = ("accounts:own-password", "accounts:logout", "set_language", "live", "token", "token-v2")

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        """Pages and the API with a session alike: a password that somebody else knows opens nothing."""
        match, user = request.resolver_match, request.user
        if match is None or not isinstance(user, User) or not user.must_change_password:
            return None
        if match.view_name in self.ALLOWED:
            return None
        if request.path.startswith(runai.PREFIXES):
            return JsonResponse(status_body(403, details="Choose a password of your own first."), status=403)
        return redirect("accounts:own-password")
