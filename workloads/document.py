"""A submitted manifest as text: reading it safely, and editing it so that comments and order stay. Pure.

YAML from outside is bounded before it is trusted: size, depth, aliases, number of values; only what JSON can hold.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from core.errors import InvalidInput
from core.stored_text import NUL, shown_name, unstorable
from core.words import gettext as _
from workloads.lines import lines_of, with_lines
from workloads.yaml_reading import MAX_DEPTH, MAX_VALUES, LongNumber, fault_of, read_documents, syntax_fault

Document = dict[str, Any]

MAX_CHARACTERS = 256 * 1024
LEAST_WHOLE = -(2**63)


def load(text: str) -> Document:
    """The one document in `text` (YAML or JSON). Raises `InvalidInput` for field `manifest` with the line."""
    if len(text) > MAX_CHARACTERS:
        line = text.count("\n", 0, MAX_CHARACTERS) + 1
        message = _("it has %(n)d characters") % {"n": len(text)}
        raise fault_of(message, _("at most %(limit)d") % {"limit": MAX_CHARACTERS}, line)
    if NUL in text:
        raise _nul_in(text)
    documents = read_documents(text)
    if len(documents) != 1:
        message = _("it holds %(n)d documents") % {"n": len(documents)}
        raise fault_of(message, _("one DynamoGraphDeployment"), documents[1][1] if documents else 0)
    try:
        return check(documents[0][0])
    except InvalidInput as error:
        raise with_lines(error, text) from error


def _nul_in(text: str) -> InvalidInput:
    """YAML has no NUL at all, so nothing of the text is read: the field is that of the line where one stands."""
    line = text.count("\n", 0, text.index(NUL)) + 1
    field = lines_of(text.replace(NUL, "")).field_at(line) or "manifest"
    return InvalidInput([replace(fault, line=line) for fault in unstorable(field, NUL)])


def check(document: Any) -> Document:
    """`document` where it is a mapping that JSON can hold, within the bounds; else `InvalidInput`."""
    if not isinstance(document, dict):
        raise fault_of(_("it is not a mapping"), "apiVersion, kind, metadata, spec")
    budget = [MAX_VALUES]
    _check_value(document, "", 0, budget)
    return document


def edit(text: str, changes: Mapping[tuple[str | int, ...], Any]) -> str:
    """`text` with values set at paths, everything else (comments, order, quotes) as it was.

    A value of None removes the key. Missing mappings on the way are made; what an alias shares with other places is
    written out before it is changed, so that they stay as they are. Raises `InvalidInput` as `load`, and for what
    only the reader that keeps comments does not understand.
    """
    plain = load(text)  # the same bounds hold before the second parser sees it
    parser = _round_trip()
    try:
        document = parser.load(text)
    except (YAMLError, ValueError) as error:
        raise syntax_fault(error, text) from error
    shared = _shared(document)
    for path, value in changes.items():
        _write_out(document, path[:-1], plain, shared)
        _set(document, path, value)
    out = io.StringIO()
    parser.dump(document, out)
    return out.getvalue()


def dump(document: Mapping[str, Any]) -> str:
    """A document as YAML in the order that it has."""
    return str(yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=110))


def _round_trip() -> YAML:
    parser = YAML(typ="rt")
    parser.preserve_quotes = True
    parser.width = 4096
    parser.indent(mapping=2, sequence=4, offset=2)
    return parser


def _shared(document: Any) -> dict[int, Any]:
    """By identity the mappings and lists that stand in more than one place: anchors with aliases, and merges.

    Kept themselves, so that no identity is given to another while edits are made.
    """
    seen: set[int] = set()
    shared: dict[int, Any] = {}
    waiting = [document]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, dict | list):
            continue
        if id(here) in seen:
            shared[id(here)] = here
            continue
        seen.add(id(here))
        waiting.extend(here.values() if isinstance(here, dict) else here)
    return shared


def _write_out(document: Any, path: Sequence[str | int], plain: Any, shared: Mapping[int, Any]) -> None:
    """Replace the first shared part on the way by a copy of its own."""
    here = document
    for step in path if shared else ():
        try:
            here, above, plain = here[step], here, plain[step]
        except (LookupError, TypeError):  # not there yet, or made by an earlier change
            return
        if id(here) in shared:
            above[step] = json.loads(json.dumps(plain))
            return


def _set(document: Any, path: Sequence[str | int], value: Any) -> None:
    *parents, last = path
    here = document
    for depth, step in enumerate(parents, 1):
        if isinstance(step, str) and here.get(step) is None:
            if value is None:
                return
            here[step] = CommentedMap()
        here = here[step]
        if not isinstance(here, list if isinstance(path[depth], int) else dict):
            field = ".".join(map(str, path[:depth]))
            raise InvalidInput.of(field, _("it is not a mapping"))
    if value is None:
        here.pop(last, None)
    else:
        here[last] = value


def _check_value(value: Any, path: str, depth: int, budget: list[int]) -> None:
    budget[0] -= 1
    if budget[0] < 0:
        raise fault_of(_("it holds more than %(limit)d values") % {"limit": MAX_VALUES})
    if depth > MAX_DEPTH:
        raise fault_of(_("it is nested deeper than %(limit)d levels") % {"limit": MAX_DEPTH})
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                message = _("the key %(key)s is not text") % {"key": repr(key)}
                raise InvalidInput.of(path or "manifest", message, _("quote it"))
            if faults := unstorable(f"{path}.{shown_name(key)}".lstrip("."), key):
                raise InvalidInput(faults)
            _check_value(inner, f"{path}.{key}" if path else key, depth + 1, budget)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_value(inner, f"{path}[{index}]", depth + 1, budget)
    else:
        _check_scalar(value, path)


def _check_scalar(value: Any, path: str) -> None:
    if isinstance(value, str) and (faults := unstorable(path, value)):
        raise InvalidInput(faults)
    if isinstance(value, LongNumber) or (isinstance(value, int) and not LEAST_WHOLE <= value <= -LEAST_WHOLE - 1):
        raise InvalidInput.of(path, _("it is a number that Kubernetes cannot hold"), _("−2^63 to 2^63 − 1"))
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput.of(path, _("%(value)s is not a number that JSON can hold") % {"value": value})
    if not isinstance(value, str | int | float | bool | None):
        message = _("a value of type %(type)s cannot be part of a manifest")
        raise InvalidInput.of(path, message % {"type": type(value).__name__})
