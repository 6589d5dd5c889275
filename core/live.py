"""Tells open pages that something changed. Carries names of what changed, never data.

A topic is `<model label>` (`topology.NodePool`), `<model label>.<pk>`, or `<model label>@<cluster id>` for observed
objects. Pages that show it fetch their fragment again; without a broker they poll.
"""

import json

from django.db import transaction

from core import broker
from core.models import DesiredState

CHANNEL = "muster:live"


def publish(*topics: str) -> None:
    """When the current transaction commits, tell pages that what `topics` name changed. Never raises."""
    message = json.dumps(sorted(set(topics)))
    transaction.on_commit(lambda: broker.publish(CHANNEL, message), robust=True)


def publish_row(row: DesiredState) -> None:
    """`publish` for one desired-state row: its list and its own page."""
    publish(*row_topics(row._meta.label, row.pk))


def row_topics(label: str, pk: object) -> tuple[str, str]:
    """The topics of one row: that of all rows of its kind, and its own."""
    return label, f"{label}.{pk}"
