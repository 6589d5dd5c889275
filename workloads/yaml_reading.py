"""Reads the text of YAML that comes from outside: bounded before anything is built from it. Pure.

Read in C where PyYAML has that: a document of as many values as are allowed costs a tenth of the time there.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from core.errors import Fault, InvalidInput
from core.stored_text import MAX_DIGITS
from core.words import gettext as _

MAX_DEPTH = 40
MAX_ALIASES = 50
MAX_VALUES = 5_000
_MERGE = "tag:yaml.org,2002:merge"
_FAST: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
# libyaml takes no halves of a character, which JSON escapes by two of them.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")

Pair = tuple[yaml.ScalarNode, yaml.Node]


class _Constructor(SafeConstructor):
    """Values as Kubernetes reads them: dates and times are text."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge in what `<<` names: what is said here wins, then what is named first, whatever else PyYAML takes for
        the same key."""
        merged = [value for key, value in node.value if key.tag == _MERGE]
        if not merged:
            return
        node.value = [pair for pair in node.value if pair[0].tag != _MERGE]
        own, found = {key.value for key, _value in node.value}, dict[str, Pair]()
        for source in merged:
            for mapping in source.value if isinstance(source, yaml.SequenceNode) else [source]:
                if not isinstance(mapping, yaml.MappingNode):
                    raise ConstructorError(None, None, "expected a mapping for merging", mapping.start_mark)
                self.flatten_mapping(mapping)
                for key, value in mapping.value:
                    found.setdefault(key.value, (key, value))
        node.value = [pair for name, pair in found.items() if name not in own] + node.value


class LongNumber:
    """A number of more digits than are read. Whoever checks values refuses it by its field."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"{self.text[:20]}…"


def _leave_times(constructor: Any, node: yaml.ScalarNode) -> Any:
    """`1:30` is text to Kubernetes, and the number 90 to YAML 1.1."""
    if ":" in node.value:
        return node.value
    if len(node.value) > MAX_DIGITS:
        return LongNumber(node.value)
    is_int = node.tag.endswith(":int")
    return constructor.construct_yaml_int(node) if is_int else constructor.construct_yaml_float(node)


def _text_of(constructor: Any, node: yaml.ScalarNode) -> str:
    """JSON escapes what lies beyond U+FFFF as two halves; one alone is no text."""
    text: str = constructor.construct_scalar(node)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise fault_of(_("a text holds half of a surrogate pair"), line=_line(node)) from error


for _tag in ("str", "timestamp", "value"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_tag}", _text_of)
for _tag in ("int", "float"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_tag}", _leave_times)


def read_documents(text: str) -> list[tuple[Any, int]]:
    """Every document in `text` that is not empty, with the line where it begins. Raises `InvalidInput` for field
    `manifest` with the line."""
    parser = parser_of(text)
    try:
        _check_events(text, parser)
        nodes = list(yaml.compose_all(text, parser))
        for node in nodes:
            _check_keys(node)
        built = [(_Constructor().construct_document(node), _line(node)) for node in nodes if node is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise syntax_fault(error, text) from error
    return [found for found in built if found[0] is not None]


def parser_of(text: str) -> Any:
    """The loader that parses and composes `text`: the fast one where it can read all of it."""
    return yaml.SafeLoader if _HALF.search(text) else _FAST


def fault_of(message: str, allowed: str = "", line: int = 0) -> InvalidInput:
    """What is wrong with the document as a whole, or at a line of it."""
    return InvalidInput([Fault("manifest", message, allowed, line)])


def syntax_fault(error: Exception, text: str) -> InvalidInput:
    """What a parser did not understand of `text`; all of them have marks of the same shape."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return fault_of(_("it is not YAML: %(why)s") % {"why": str(error)[:200]})
    values = {"why": getattr(error, "problem", ""), "column": mark.column + 1}
    line = min(mark.line, text.count("\n")) + 1  # the end may count as a line of its own
    return fault_of(_("it is not YAML: %(why)s, column %(column)d") % values, line=line)


def _check_events(text: str, parser: Any) -> None:
    depth = aliases = values = 0
    for event in yaml.parse(text, parser):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        values += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH:
            raise fault_of(_("it is nested deeper than %(limit)d levels") % {"limit": MAX_DEPTH}, line=_line(event))
        if aliases > MAX_ALIASES:
            raise fault_of(_("it has more than %(limit)d aliases") % {"limit": MAX_ALIASES}, line=_line(event))
        if values > 2 * MAX_VALUES:  # a key and its value are one
            raise fault_of(_("it holds more than %(limit)d values") % {"limit": MAX_VALUES}, line=_line(event))


def _check_keys(root: yaml.Node | None) -> None:
    """Keys are text, and each stands once where it is written; what is merged in may repeat it."""
    for node in _mappings(root):
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise fault_of(_("a key is not text"), _("quote it"), _line(key))
            if key.value in seen and key.value != "<<":
                shown = repr(str(key.value)[:60])
                raise fault_of(_("the key %(key)s stands twice") % {"key": shown}, line=_line(key))
            seen.add(key.value)


def _mappings(root: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    """Every mapping, in the order of the text; one with several names once."""
    rest, been = [root], set[int]()
    while rest:
        node = rest.pop()
        if node is None or id(node) in been:
            continue
        been.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            rest += [value for _key, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            rest += reversed(node.value)


def _line(place: yaml.Event | yaml.Node) -> int:
    return place.start_mark.line + 1 if place.start_mark else 0
