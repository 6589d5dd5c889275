"""URLs of a list: what its sort links, chips and forms keep of the state that is in the URL."""

from typing import Any

from django import template
from django.http import HttpRequest, QueryDict
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.filters import Term
from core.tables import Table

register = template.Library()

_PARTS_OF_A_TERM = ("filter", "field", "op", "value")


@register.simple_tag(takes_context=True)
def list_query(context: Context, table: Table, without: Term | None = None, **changes: Any) -> SafeString:
    """The list's URL with changes: `{% list_query table sort="-name" %}`, `{% list_query table without=term %}`.

    The page number is dropped unless it is given, since every other change makes it meaningless.
    """
    params = _params(context["request"], table, without)
    for name, value in changes.items():
        if value in {None, ""}:
            params.pop(name, None)
        else:
            params[name] = str(value)
    return format_html("?{}", params.urlencode())


@register.simple_tag(takes_context=True)
def list_cleared(context: Context) -> SafeString:
    """The list's URL without search and filters; scope and sort stay."""
    params = context["request"].GET.copy()
    for name in ("q", "page", "format", *_PARTS_OF_A_TERM):
        params.pop(name, None)
    return format_html("?{}", params.urlencode())


@register.simple_tag(takes_context=True)
def list_inputs(context: Context, table: Table, leave_out: str = "") -> SafeString:
    """Hidden inputs that carry the list's state through a GET form, but for the parameter that the form sets."""
    params = _params(context["request"], table, None)
    return format_html_join(
        "",
        '<input type="hidden" name="{}" value="{}">',
        ((name, value) for name, values in params.lists() if name != leave_out for value in values),
    )


def _params(request: HttpRequest, table: Table, without: Term | None) -> QueryDict:
    params = request.GET.copy()
    for name in ("page", "format", *_PARTS_OF_A_TERM):
        params.pop(name, None)
    params.setlist("filter", [str(term) for term in table.terms if term is not without])
    return params
