"""`{% icon "boxes" %}`: icons of the lucide set as inline SVG, sized and stroked by CSS (`.icon`)."""

import re
from functools import lru_cache

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from lucide.templatetags.lucide import lucide

register = template.Library()

_DRAWING = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
_BETWEEN_TAGS = re.compile(r">\s+<")


@register.simple_tag
def icon(name: str, classes: str = "", label: str = "") -> SafeString:
    """An icon, 16 px; `classes` may hold `small` (14), `big` (24) or a status (`ok wait bad off`).

    Hidden from assistive technology unless it stands alone and has a `label`.
    Raises lucide.IconDoesNotExist for a name that the set does not have.
    """
    drawing = _drawing(name)
    css = f"icon {classes}".strip()
    if label:
        return format_html(
            '<svg class="{}" viewBox="0 0 24 24" role="img" aria-label="{}">{}</svg>', css, label, drawing
        )
    return format_html('<svg class="{}" viewBox="0 0 24 24" aria-hidden="true">{}</svg>', css, drawing)


@lru_cache(maxsize=256)
def _drawing(name: str) -> SafeString:
    match = _DRAWING.search(lucide(name))
    if match is None:
        raise ValueError(f"lucide's {name!r} is not an SVG")
    return mark_safe(_BETWEEN_TAGS.sub("><", match.group(1).strip()))  # noqa: S308 - the package's own drawing
