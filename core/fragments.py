"""Parts of pages that other pages load by htmx; asked for by a plain link, a part is a page of its own."""

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def render_fragment(
    request: HttpRequest, template: str, context: Mapping[str, object], *, crumbs: Sequence[Mapping[str, str]]
) -> HttpResponse:
    """`template` alone for htmx, else inside the shell; `crumbs` lead to the object that it is a part of, itself the
    last one and the heading."""
    alone = "HX-Request" in request.headers
    shown = context if alone else {**context, "fragment": template, "crumbs": crumbs[:-1], "whole": crumbs[-1]}
    response = render(request, template if alone else "fragment.html", dict(shown))
    patch_vary_headers(response, ["HX-Request"])
    return response
