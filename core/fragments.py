"""Parts of pages that other pages load by htmx; asked for by a plain link, a part is a page of its own."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def render_fragment(request: HttpRequest, template: str, context: Mapping[str, object], *, title: str) -> HttpResponse:
    """`template` alone for htmx, else inside the shell under the heading `title`."""
    alone = "HX-Request" in request.headers
    shown = context if alone else {**context, "fragment": template, "title": title}
    response = render(request, template if alone else "fragment.html", dict(shown))
    patch_vary_headers(response, ["HX-Request"])
    return response
