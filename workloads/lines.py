"""Where the fields of a manifest stand in its text, so that every finding can name its line. Pure.

The marks are those of PyYAML, which reads the documents; ruamel.yaml, which edits them, would read the text again and
several times slower.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import yaml

from clusters.names import (
    DYNAMO_QUEUE_ANNOTATION,
    NODE_POOL_LABEL,
    PREFERRED_PLACEMENT_ANNOTATION,
    QUEUE_LABEL,
    REQUIRED_PLACEMENT_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from core.errors import Fault, InvalidInput
from workloads.graph import PREEMPTIBILITY_LABEL, PRIORITY_LABEL
from workloads.yaml_reading import parser_of

MAX_FIELDS = 20_000


def _entries(*keys: str) -> tuple[str, ...]:
    """The places of a label or annotation, in the order in which they are read."""
    return tuple(
        f"{place}.{section}.{key}"
        for place in ("spec", "metadata")
        for section in ("annotations", "labels")
        for key in keys
    )


_PLACEMENT = _entries(REQUIRED_PLACEMENT_ANNOTATION, PREFERRED_PLACEMENT_ANNOTATION, TOPOLOGY_ANNOTATION)
# Fields of the form: where the document says the same.
_PLACES: Mapping[str, Sequence[str]] = {
    "name": ("metadata.name",),
    "node_pool": _entries(NODE_POOL_LABEL),
    "queue": _entries(DYNAMO_QUEUE_ANNOTATION, QUEUE_LABEL),
    "topology": _entries(TOPOLOGY_ANNOTATION),
    "required_level": _entries(REQUIRED_PLACEMENT_ANNOTATION),
    "preferred_level": _entries(PREFERRED_PLACEMENT_ANNOTATION),
    "placement": _PLACEMENT,
    "preemptibility": _entries(PREEMPTIBILITY_LABEL),
    "spec.priorityClassName": ("spec.priorityClassName", *_entries(PRIORITY_LABEL)),
    "gpus": ("spec.components", "spec.services"),
    "component": ("spec.components", "spec.services"),
}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a text by path; see `line_of`."""

    by_path: Mapping[str, int]

    def line_of(self, field: str) -> int:
        """The line of a field, from 1. What the text does not hold has the line of what it would stand in."""
        for place in _PLACES.get(field, ()):
            if place in self.by_path:
                return self.by_path[place]
        path = "spec" if field in _PLACES else field.replace("[", ".").replace("]", "").strip(".")
        while path and path not in self.by_path:
            path = path.rpartition(".")[0]
        return self.by_path.get(path, 1)

    def field_at(self, line: int) -> str:
        """The innermost field that begins last at or before a line; empty where none does."""
        begun = [(at, path.count("."), path) for path, at in self.by_path.items() if at <= line]
        path = max(begun, default=(0, 0, ""))[2]
        return "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in path.split(".")).lstrip(".")

    def named(self, fault: Fault) -> Fault:
        """The fault with its line."""
        return fault if fault.line else replace(fault, line=self.line_of(fault.field))


def lines_of(text: str) -> Lines:
    """The lines of the first document in `text`; none are known of what is not YAML."""
    try:
        root = next((node for node in yaml.compose_all(text, parser_of(text)) if not _is_empty(node)), None)
        found: dict[str, int] = {}
        for path, line in _walk(root, "", set()):
            found.setdefault(path, line)
            if len(found) >= MAX_FIELDS:
                break
    except (yaml.YAMLError, ValueError, RecursionError):
        return Lines({})
    return Lines(found)


def with_lines(error: InvalidInput, text: str) -> InvalidInput:
    """The error with the line of each fault in `text`, which is read only where a line is not known."""
    if all(fault.line for fault in error.faults):  # so it is with a text that is too large to be read
        return error
    lines = lines_of(text)
    return InvalidInput([lines.named(fault) for fault in error.faults])


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def _walk(node: yaml.Node | None, path: str, been: set[tuple[int, str]]) -> Iterator[tuple[str, int]]:
    """Fields below `node`; `been` holds where the walk was, so that merges of merges are not walked again and again."""
    if node is None or (id(node), path) in been:
        return
    been.add((id(node), path))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                yield from _at(value, f"{path}.{key.value}" if path else str(key.value), key.start_mark.line + 1, been)
        for key, value in node.value:  # what is merged in stands where its anchor is, unless it is said here
            if isinstance(key, yaml.ScalarNode) and key.value == "<<":
                yield from _walk(value, path, been)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _at(value, f"{path}.{index}", value.start_mark.line + 1, been)


def _at(node: yaml.Node, path: str, line: int, been: set[tuple[int, str]]) -> Iterator[tuple[str, int]]:
    yield path, line
    yield from _walk(node, path, been)
