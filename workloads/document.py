"""A submitted manifest as text: reading it safely, and editing it so that comments and order stay. Pure.

YAML from outside is bounded before it is trusted: size, depth, aliases, number of values; only what JSON can hold.
"""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from core.errors import Fault, InvalidInput
from core.words import gettext as _
from workloads.lines import with_lines

Document = dict[str, Any]

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 40
MAX_ALIASES = 50
MAX_VALUES = 20_000
LEAST_WHOLE = -(2**63)


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses repeated keys and leaves dates as text, as Kubernetes does."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """The mapping as it is written: what is merged in later may repeat keys, and is overridden."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _fault(_("a key is not text"), _("quote it"), key.start_mark.line + 1)
            if key.value in seen and key.value != "<<":
                shown = repr(str(key.value)[:60])
                raise _fault(_("the key %(key)s stands twice") % {"key": shown}, line=key.start_mark.line + 1)
            seen.add(key.value)
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _leave_times(loader: _Loader, node: yaml.ScalarNode) -> Any:
    """`1:30` is text to Kubernetes, and the number 90 to YAML 1.1."""
    if ":" in node.value:
        return node.value
    is_int = node.tag.endswith(":int")
    return loader.construct_yaml_int(node) if is_int else loader.construct_yaml_float(node)


def _join_halves(loader: _Loader, node: yaml.ScalarNode) -> str:
    """JSON escapes what lies beyond U+FFFF as two halves; one alone is no text."""
    text = loader.construct_yaml_str(node)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _fault(_("a text holds half of a surrogate pair"), line=node.start_mark.line + 1) from error


_Loader.add_constructor("tag:yaml.org,2002:str", _join_halves)
_Loader.add_constructor("tag:yaml.org,2002:int", _leave_times)
_Loader.add_constructor("tag:yaml.org,2002:float", _leave_times)


def load(text: str) -> Document:
    """The one document in `text` (YAML or JSON). Raises `InvalidInput` for field `manifest` with the line."""
    if len(text) > MAX_CHARACTERS:
        line = text.count("\n", 0, MAX_CHARACTERS) + 1
        message = _("it has %(n)d characters") % {"n": len(text)}
        raise _fault(message, _("at most %(limit)d") % {"limit": MAX_CHARACTERS}, line)
    _check_events(text)
    try:
        documents = [document for document in yaml.load_all(text, _Loader) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _syntax(error) from error
    if len(documents) != 1:
        message = _("it holds %(n)d documents") % {"n": len(documents)}
        raise _fault(message, _("one DynamoGraphDeployment"), _second(text))
    try:
        return check(documents[0])
    except InvalidInput as error:
        raise with_lines(error, text) from error


def check(document: Any) -> Document:
    """`document` where it is a mapping that JSON can hold, within the bounds; else `InvalidInput`."""
    if not isinstance(document, dict):
        raise _fault(_("it is not a mapping"), "apiVersion, kind, metadata, spec")
    budget = [MAX_VALUES]
    _check_value(document, "", 0, budget)
    return document


def edit(text: str, changes: Mapping[tuple[str | int, ...], Any]) -> str:
    """`text` with values set at paths, everything else (comments, order, quotes) as it was.

    A value of None removes the key. Missing mappings on the way are made.
    """
    load(text)  # the same bounds hold before the second parser sees it
    parser = _round_trip()
    document = parser.load(text)
    for path, value in changes.items():
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


def _set(document: Any, path: Sequence[str | int], value: Any) -> None:
    *parents, last = path
    here = document
    for step in parents:
        if isinstance(step, str) and not isinstance(here.get(step), dict | list):
            if value is None:
                return
            here[step] = CommentedMap()
        here = here[step]
    if value is None:
        here.pop(last, None)
    else:
        here[last] = value


def _check_events(text: str) -> None:
    """Bounds that must hold before anything is built from the text."""
    depth = aliases = values = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            values += isinstance(event, yaml.NodeEvent)
            line = _line(event)
            if depth > MAX_DEPTH:
                raise _fault(_("it is nested deeper than %(limit)d levels") % {"limit": MAX_DEPTH}, line=line)
            if aliases > MAX_ALIASES:
                raise _fault(_("it has more than %(limit)d aliases") % {"limit": MAX_ALIASES}, line=line)
            if values > 2 * MAX_VALUES:  # a key and its value are one
                raise _fault(_("it holds more than %(limit)d values") % {"limit": MAX_VALUES}, line=line)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _syntax(error) from error


def _check_value(value: Any, path: str, depth: int, budget: list[int]) -> None:
    budget[0] -= 1
    if budget[0] < 0:
        raise _fault(_("it holds more than %(limit)d values") % {"limit": MAX_VALUES})
    if depth > MAX_DEPTH:
        raise _fault(_("it is nested deeper than %(limit)d levels") % {"limit": MAX_DEPTH})
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                message = _("the key %(key)s is not text") % {"key": repr(key)}
                raise InvalidInput.of(path or "manifest", message, _("quote it"))
            _check_value(inner, f"{path}.{key}" if path else key, depth + 1, budget)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_value(inner, f"{path}[{index}]", depth + 1, budget)
    else:
        _check_scalar(value, path)


def _check_scalar(value: Any, path: str) -> None:
    if isinstance(value, str) and "\x00" in value:
        raise InvalidInput.of(path, _("it holds a NUL character"))
    if isinstance(value, int) and not LEAST_WHOLE <= value <= -LEAST_WHOLE - 1:
        raise InvalidInput.of(path, _("it is a number that Kubernetes cannot hold"), _("−2^63 to 2^63 − 1"))
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput.of(path, _("%(value)s is not a number that JSON can hold") % {"value": value})
    if not isinstance(value, str | int | float | bool | None):
        message = _("a value of type %(type)s cannot be part of a manifest")
        raise InvalidInput.of(path, message % {"type": type(value).__name__})


def _second(text: str) -> int:
    """The line where the second document begins; 0 where there is none."""
    starts = [event for event in yaml.parse(text, Loader=yaml.SafeLoader) if isinstance(event, yaml.DocumentStartEvent)]
    return _line(starts[1]) if len(starts) > 1 else 0


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _fault(message: str, allowed: str = "", line: int = 0) -> InvalidInput:
    return InvalidInput([Fault("manifest", message, allowed, line)])


def _syntax(error: Exception) -> InvalidInput:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        values = {"why": error.problem, "column": mark.column + 1}
        return _fault(_("it is not YAML: %(why)s, column %(column)d") % values, line=mark.line + 1)
    return _fault(_("it is not YAML: %(why)s") % {"why": str(error)[:200]})
