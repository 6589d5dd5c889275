"""What an entry of the audit log changed, field by field: the path of each field, its value before and after, as text.

Fields that a package tells in its own words (`say_field`) are one sentence; what a viewer may not know is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils.text import Truncator

from accounts.models import AuditEntry, User

NOTHING = "–"
Say = Callable[[Any], str]
Viewer = User | AnonymousUser
Narrow = Callable[[AuditEntry, Any], Any]

_sayers: dict[str, Say] = {}
_value_sayers: dict[str, Say] = {}
_narrowers: dict[str, Callable[[Viewer], Narrow]] = {}


def say_field(name: str, say: Say) -> None:
    """Let `say(value)` tell the field `name` of every entry; "" leaves it to its parts."""
    _sayers[name] = say


def say_value(name: str, say: Say) -> None:
    """Let `say(value)` tell every value whose path ends with `name`; "" leaves it as it is written."""
    _value_sayers[name] = say


def told(name: str, value: Any) -> str:
    """The field in the words of its package; "" where it is left to its parts."""
    return _sayers[name](value) if name in _sayers else ""


def narrow_field(name: str, narrow: Callable[[Viewer], Narrow]) -> None:
    """Let `narrow(viewer)(entry, value)` give the field `name` without what this viewer may not know."""
    _narrowers[name] = narrow


def as_seen_by(viewer: Viewer, entries: Iterable[AuditEntry]) -> list[AuditEntry]:
    """The entries (those that `viewer` may read) without names that somebody else was shown when they acted."""
    narrowing = {name: narrow(viewer) for name, narrow in _narrowers.items()}
    seen = list(entries)
    for entry in seen:
        after = entry.after or {}
        for name in narrowing.keys() & after.keys():
            after[name] = narrowing[name](entry, after[name])
    return seen


@dataclass(frozen=True, slots=True)
class Change:
    """One field. `path` is dotted, `[n]` for the n-th of a list; `before` is None where the entry names none."""

    path: str
    before: str | None
    after: str

    def text(self, longest: int = 0) -> str:
        """`path: before → after`; values longer than `longest` are shortened, 0 leaves them whole."""
        before, after = (_short(value, longest) if longest else value for value in (self.before or "", self.after))
        return f"{self.path}: {after}" if self.before is None else f"{self.path}: {before} → {after}"


def changes_of(entry: AuditEntry) -> list[Change]:
    """Every field that differs, in the entry's order; empty ones of something new are left out."""
    before, after = dict(_fields(entry.before or {})), dict(_fields(entry.after or {}))
    changes = [Change(path, before.get(path), after.get(path, NOTHING)) for path in {**before, **after}]
    return [change for change in changes if change.after != (change.before or NOTHING)]


def _short(value: str, longest: int) -> str:
    return Truncator(" ".join(value.split())).chars(longest)


def _fields(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        said = told(name, value)
        yield from [(name, said)] if said else _leaves(name, value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, part in value.items():
            yield from _leaves(f"{path}.{name}", part)
    elif isinstance(value, list) and any(isinstance(part, Mapping | list) for part in value):
        for number, part in enumerate(value):
            yield from _leaves(f"{path}[{number}]", part)
    else:
        say = _value_sayers.get(path.rpartition(".")[2])
        yield path, (say(value) if say else "") or _plain(value)


def _plain(value: Any) -> str:
    """A value as one writes it: no quotes, no brackets; lists by commas; `–` for nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_plain, value)) or NOTHING
    return NOTHING if value is None or value in ("", {}) else str(value)
