"""The audit log."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from accounts import audit_wire
from accounts.audit import visible_entries
from accounts.audit_changes import as_seen_by, changes_of
from accounts.models import AuditEntry
from accounts.permissions import require
from accounts.tables import ACTIONS, AUDIT, SOURCES
from core.saved_views import SavedView
from core.tables import build_table, table_response

LONGEST = 60  # characters of a value in the list; all of it stands below
VIEWS = (
    SavedView(label=_("All")),
    SavedView(label=_("Refused"), terms=("outcome==Failed",)),
    SavedView(label=_("Sign-ins"), terms=("action==sign-in",)),
    SavedView(label=_("Deletions"), terms=("action==delete",)),
)


@require_GET
def audit_list(request: HttpRequest) -> HttpResponseBase:
    """Who did what, newest first: of the objects below a scope in which the viewer may read it."""
    require(request.user, "events-history:read")

    def present(entries: Sequence[Any]) -> list[AuditEntry]:
        return entry_rows(as_seen_by(request.user, entries))

    table = build_table(request, visible_entries(request.user), AUDIT, views=VIEWS, present=present)
    now = timezone.now()
    span = {"start": (now - timedelta(days=settings.AUDIT_DAYS)).isoformat(), "end": now.isoformat()}
    query = urlencode({**span, "file_type": "JSON", "numberOfSamples": 1000})
    context = {"json_url": f"{reverse('audit-log-file')}?{query}", "days": settings.AUDIT_DAYS}
    return table_response(request, "accounts/audit_list.html", table, context)


def entry_rows(entries: Sequence[Any]) -> list[AuditEntry]:
    """Entries with their words: kind, outcome, change in short (or why it was refused), and every changed field."""
    words, sources = dict(ACTIONS), dict(SOURCES)
    for entry in entries:
        entry.kind_word = audit_wire.kind_of(entry)
        entry.action_word = words.get(entry.action, entry.action)
        entry.source_word = sources.get(entry.source, entry.source)
        entry.outcome_word = entry.get_outcome_display()
        entry.changes = changes_of(entry)
        entry.change = audit_wire.changes_text(entry, LONGEST) or entry.reason
    return list(entries)
