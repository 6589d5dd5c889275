"""Who holds a GPU, as far as the viewer may know."""

import uuid
from collections.abc import Mapping

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()


@register.simple_tag
def owner_name(owner: str, labels: Mapping[str, str]) -> SafeString:
    """A link to the workload; "another workload" where the viewer may not see it; the pod where Muster made none."""
    if not owner:
        return format_html('<span class="none">{}</span>', "–")
    if owner == "mig":
        return format_html("{}", _("MIG instances"))
    if owner in labels:
        return format_html('<a href="{}">{}</a>', reverse("workloads:detail", args=[owner]), labels[owner])
    return format_html('<span class="muted">{}</span>', _("another workload") if _is_id(owner) else _("another pod"))


def _is_id(owner: str) -> bool:
    try:
        uuid.UUID(owner)
    except ValueError:
        return False
    return True
