"""What a declared shape allows at a place of a document, in words for whoever sent something else. Pure."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")
_EXPECTED = re.compile(r"^Expected `([^`]*)`")


def allowed_at(shape: Any, where: str, message: str) -> str:
    """The values that may stand at `where` (as `subjects[0].subjectType`), else the types that `message` names."""
    kinds = [inspect.type_info(shape)]
    for step in _STEP.findall(where):
        kinds = [inner for kind in kinds for one in _alternatives(kind) for inner in _inside(one, step)]
    ends = [one for kind in kinds for one in _alternatives(kind)]
    values = [value for one in ends if isinstance(one, inspect.LiteralType) for value in one.values]
    expected = _EXPECTED.match(message)
    return ", ".join(map(str, values)) or (expected[1] if expected else "")


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        yield from _alternatives(kind.type)
    elif isinstance(kind, inspect.UnionType):
        yield from (one for each in kind.types for one in _alternatives(each))
    else:
        yield kind


def _inside(kind: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields if field.encode_name == step)
    elif isinstance(kind, inspect.ListType):
        yield kind.item_type
    elif isinstance(kind, inspect.DictType):
        yield kind.value_type
