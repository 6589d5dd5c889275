"""How long the database may take over a statement of a web process, and what is answered where it takes longer."""

from typing import Any

# PostgreSQL's query_canceled: the statement took longer than it may.
CANCELED = "57014"


def bound_statements(database: dict[str, Any], seconds: float) -> None:
    """Have PostgreSQL give up statements of this process after `seconds`; 0: never. Of `database`, an entry of
    `DATABASES`, before it is connected to. Workers and migrations take the time that they need."""
    if database["ENGINE"].endswith("postgresql") and seconds:
        ours = f"-c statement_timeout={round(seconds * 1000)}"
        given = database.get("OPTIONS") or {}
        # What the URL says comes last, and holds.
        database["OPTIONS"] = {**given, "options": " ".join(filter(None, (ours, given.get("options"))))}


def was_given_up(error: Exception) -> bool:
    """Whether the statement was given up for its time."""
    return getattr(error.__cause__, "sqlstate", None) == CANCELED
