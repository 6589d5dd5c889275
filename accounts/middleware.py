"""Pages are for people who are signed in, unless a view says otherwise."""

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Sends the browser to the sign-in page; a fragment that htmx asked for sends the whole page there."""

    def handle_no_permission(  # type: ignore[override]  # not always a redirect
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        answer = super().handle_no_permission(request, view_func)
        if "HX-Request" not in request.headers:
            return answer
        return HttpResponse(status=401, headers={"HX-Redirect": answer.headers["Location"]})
