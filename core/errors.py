"""The errors that services and reconcilers raise; pages and the API turn them into answers in one place.

Every error says what happened, which field it concerns and what would be allowed, and whether trying again
without a change can help (`retryable`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.words import gettext as _
from core.words import gettext_noop


class MusterError(Exception):
    """Base of all. `code` is the HTTP status that the API answers with."""

    code = 500
    reason = "InternalError"
    retryable = False

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        if reason:
            self.reason = reason


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one field of an input. `field` is a dotted path (`levels[1]`, `resources.gpu.limit`).

    `line` is where it stands in a text that was sent, from 1; 0 where no text was.
    """

    field: str
    message: str
    allowed: str = ""
    line: int = 0

    @property
    def sentence(self) -> str:
        """For pages: what is wrong, and what would be allowed."""
        text = _("%(message)s. Allowed: %(allowed)s.") if self.allowed else _("%(message)s.")
        return text % {"message": self.message.rstrip(".。"), "allowed": self.allowed}


class InvalidInput(MusterError):
    """The input breaks a rule: 400. Nothing was written. `faults` are shown beside their fields."""

    code = 400
    reason = "InvalidInput"

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{f.field}: {f.message}" if f.field else f.message for f in faults))

    @classmethod
    def of(cls, field_name: str, message: str, allowed: str = "") -> "InvalidInput":
        """The common case of a single fault."""
        return cls([Fault(field_name, message, allowed)])


class NotPermitted(MusterError):
    """The object is visible, the act is not allowed: 403. `right` names what is missing, as `resource:action`."""

    code = 403
    reason = "NotPermitted"

    def __init__(self, right: str) -> None:
        self.right = right
        super().__init__(_("You do not have the right %(right)s.") % {"right": right})


class NotFound(MusterError):
    """Absent or invisible, which must look the same: 404."""

    code = 404
    reason = "NotFound"

    def __init__(self, message: str = gettext_noop("Resource id not found.")) -> None:
        super().__init__(_(message))


class Conflict(MusterError):
    """A name is taken, or the object is in use: 409. `objects` are those in the way."""

    code = 409
    reason = "Conflict"

    def __init__(self, message: str, *, objects: Sequence[str] = ()) -> None:
        self.objects = tuple(objects)
        super().__init__(message)


CHANGED = gettext_noop("The object was changed by somebody else since it was read. Load it again and repeat the edit.")


class Stale(MusterError):
    """The object changed since it was read (If-Match, or a form's hidden field): 412."""

    code = 412
    reason = "PreconditionFailed"

    def __init__(self, message: str = CHANGED) -> None:
        super().__init__(_(message))


class DatabaseFailed(MusterError):
    """The database cannot be reached, read or written: 503. What was asked for was not done."""

    code = 503
    reason = "DatabaseFailed"
    retryable = True

    def __init__(self) -> None:
        super().__init__(_("The database cannot be used right now. Nothing was changed; try again in a few minutes."))


class DatabaseTooSlow(MusterError):
    """A statement took longer than it may: 503. What was asked for was not done."""

    code = 503
    reason = "DatabaseTooSlow"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            _("The database took too long, and the request was given up. Nothing was changed; try again in a moment.")
        )


@dataclass(frozen=True, slots=True)
class Blocker:
    """An object that a destructive act would hit, as it is listed before asking."""

    kind: str
    name: str
