"""What an edit form remembers of the row that it was opened with: what others saved since is never overwritten."""

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from core.errors import Stale
from core.models import DesiredState, TimestampedModel

MOST_DIGITS = 17


def opened_generation(request: HttpRequest, row: DesiredState) -> int:
    """The generation for the form's hidden field and, once it is posted, for `change_spec`: the row's where the form is
    opened by this request, else the one that it was opened with; 0, which no row has, where it names none."""
    if request.method != "POST":
        return row.generation
    text = request.POST.get("generation", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0


def is_outdated(request: HttpRequest, row: DesiredState) -> bool:
    """Whether somebody else saved the row since the posted form was opened."""
    return opened_generation(request, row) != row.generation


def tell_saved(request: HttpRequest, row: DesiredState, before: int, told: str) -> None:
    """Say `told` of a row that was saved; where its generation is still the one `before`, that nothing changed."""
    if row.generation == before:
        tell_unchanged(request, row)
    else:
        messages.success(request, told)


def tell_unchanged(request: HttpRequest, row: TimestampedModel) -> None:
    """Say that what was sent is what was stored already."""
    messages.info(request, _("Nothing changed: %(name)s is already as it was sent.") % {"name": row})


def opened_at(request: HttpRequest, row: TimestampedModel) -> str:
    """The same of a row that has no generation: when it was last changed, as text."""
    return request.POST.get("updated", "") if request.method == "POST" else row.updated_at.isoformat()


def is_outdated_by_time(request: HttpRequest, row: TimestampedModel) -> bool:
    """The same of a row that has no generation."""
    return opened_at(request, row) != row.updated_at.isoformat()


def hold_as_opened(request: HttpRequest, row: TimestampedModel) -> None:
    """Let nobody else change the row in this transaction. Raises `Stale` where it is not as the form opened with."""
    stored = type(row)._default_manager.select_for_update().filter(pk=row.pk).first()
    if stored is None or stored.updated_at.isoformat() != opened_at(request, row):
        raise Stale
