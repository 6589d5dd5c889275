"""A person's own saved views of a list: kept, counted beside the list, forgotten. Nobody else sees them."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.errors import InvalidInput, NotFound
from core.models import OwnView
from core.readable import is_readable, unreadable
from core.stored_text import unstorable

MAX_VIEWS = 20  # of one list
MAX_LABEL = 60
MAX_QUERY = 2000
# What a view keeps of a list's URL: not which page of it, nor of which cluster or project.
KEPT = ("filter", "q", "sort", "show")


def query_of(parameters: Mapping[str, Any]) -> str:
    """The part of a list's URL that a view keeps, in one order, so that equal views have equal queries."""
    given = parameters if isinstance(parameters, QueryDict) else QueryDict(mutable=True)
    kept = QueryDict(mutable=True)
    for name in KEPT:
        values = [value for value in given.getlist(name) if value]
        kept.setlist(name, sorted(values) if name in ("filter", "show") else values[:1])
    return kept.urlencode()


def views_of(user: Any, table: str) -> list[OwnView]:
    """The person's views of a list, by name. 1 query, none for nobody."""
    if user is None or isinstance(user, AnonymousUser):
        return []
    return list(OwnView.objects.filter(user=user, table=table).order_by("label")[:MAX_VIEWS])


def keep_view(user: Any, *, table: str, label: str, query: str) -> OwnView:
    """Keep a view; one of the same name is replaced. Raises `InvalidInput`."""
    label, query = " ".join(label.split()), query_of(QueryDict(query[:MAX_QUERY]))
    if faults := unreadable("label", label):
        raise InvalidInput(faults)
    if len(label) > MAX_LABEL or not is_readable(label):
        allowed = _("1 to %(limit)d characters that can be seen") % {"limit": MAX_LABEL}
        raise InvalidInput.of("label", _("A view needs a name"), allowed)
    if not query:
        raise InvalidInput.of("query", _("This view is the whole list"), _("a filter, a search, a sort or columns"))
    if faults := unstorable("table", table):
        raise InvalidInput(faults)
    if not table or len(table) > 63 or len(query) > MAX_QUERY:
        raise InvalidInput.of("query", _("This view cannot be kept"), _("at most %(limit)d") % {"limit": MAX_QUERY})
    if OwnView.objects.filter(user=user, table=table).exclude(label=label).count() >= MAX_VIEWS:
        allowed = _("at most %(limit)d") % {"limit": MAX_VIEWS}
        raise InvalidInput.of("label", _("These are too many views of one list"), allowed)
    row, _new = OwnView.objects.update_or_create(user=user, table=table, label=label, defaults={"query": query})
    return row


def forget_view(user: Any, pk: str) -> OwnView:
    """Forget one of the person's own. Raises `NotFound`."""
    found = (
        OwnView.objects.filter(user=user, pk=int(pk)).first()
        if pk.isascii() and pk.isdigit() and len(pk) < 19
        else None
    )
    if found is None:
        raise NotFound
    found.delete()
    return found


@require_http_methods(["GET", "HEAD", "POST"])
def own_views(request: HttpRequest) -> HttpResponse:
    """Keep the view that is shown (`table`, `query`, `label`), or forget one (`forget`); back to the list (`path`)."""
    if request.method != "POST":
        return redirect("/")
    path = request.POST.get("path", "")
    if not path.startswith("/") or not url_has_allowed_host_and_scheme(path, allowed_hosts=None):
        raise InvalidInput.of("path", _("This is no list"), _("the address of a list"))
    if "forget" in request.POST:
        view = forget_view(request.user, request.POST["forget"])
        messages.success(request, _("View “%(name)s” is forgotten.") % {"name": view.label})
        return redirect(path)
    given = {name: request.POST.get(name, "") for name in ("table", "label", "query")}
    view = keep_view(request.user, **given)
    messages.success(request, _("View “%(name)s” is kept.") % {"name": view.label})
    return redirect(f"{path}?{view.query}")
