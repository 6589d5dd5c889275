"""What an edit form remembers of the row that it was opened with: what others saved since is never overwritten."""

from django.http import HttpRequest

from core.models import DesiredState

MOST_DIGITS = 17


def opened_generation(request: HttpRequest, row: DesiredState) -> int:
    """The generation for the form's hidden field and, once it is posted, for `change_spec`: the row's where the form is
    opened by this request, else the one that it was opened with; 0, which no row has, where it names none."""
    if request.method != "POST":
        return row.generation
    text = request.POST.get("generation", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
