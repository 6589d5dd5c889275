"""Pages that compose several packages: the overview; and the answers to what has no page."""

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseServerError, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.views.decorators.http import require_GET

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.selectors import chosen_cluster
from controlplane.overview import context as overview_context
from core.api import runai
from core.api.errors import status_body


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """What there is, what runs, what waits."""
    user = actor_of(request).user
    require(user, "dashboards-overview:read")
    cluster = chosen_cluster(user, request.GET.get("cluster", ""))
    return render(request, "controlplane/overview.html", overview_context(user, cluster))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400 in the shape that the asker understands. The page is made without the request: it cannot be read."""
    if request.path.startswith(runai.PREFIXES):
        details = "The request is too large, is broken, or asks for another host."
        return JsonResponse(status_body(400, details=details), status=400)
    return HttpResponseBadRequest(get_template("400.html").render())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404 in the shape that the asker understands; 501 for an operation of Run:ai that Muster does not have."""
    if runai.find(str(request.method), request.path) is not None:
        refusal = runai.NotServed
        body = status_body(501, details=str(refusal.default_detail), reason=refusal.__name__)
        answer = JsonResponse(body, status=501)
        answer._has_been_logged = True  # type: ignore[attr-defined]  # it is no error of ours: the log keeps quiet
        return answer
    if request.path.startswith(runai.PREFIXES):
        return JsonResponse(status_body(404, "There is no such path in the API."), status=404)
    # Not Django's own: they read the form that came along first, and fail where it cannot be read.
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500 in the shape that the asker understands; the log has the traceback."""
    if request.path.startswith(runai.PREFIXES):
        return JsonResponse(status_body(500), status=500)
    return HttpResponseServerError(get_template("500.html").render())
