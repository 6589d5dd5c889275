"""The operations of Run:ai's API (control plane 2.24), so that one that Muster lacks answers 501 and not 404."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rest_framework import exceptions

_LIST = Path(__file__).with_name("runai_operations.txt")
_PARAMETER = re.compile(r"\{[^}]+\}")
PREFIXES = ("/api/", "/v1/k8s/")


class NotServed(exceptions.APIException):
    """An operation of Run:ai that Muster does not have: 501."""

    status_code = 501
    default_detail = "Muster does not have this operation of Run:ai; docs/api.md lists those that it has."
    default_code = "not_implemented"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path template (`/api/v1/nodes/{nodeId}/metrics`); `group` is Run:ai's tag."""

    method: str
    path: str
    group: str

    @property
    def shape(self) -> str:
        """The template with every parameter named alike."""
        return _PARAMETER.sub("{}", self.path)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@cache
def operations() -> tuple[Operation, ...]:
    """All 391, in the order of Run:ai's document."""
    lines = _LIST.read_text().splitlines()
    return tuple(Operation(*line.split(" ", 2)) for line in lines)


def find(method: str, path: str) -> Operation | None:
    """The operation that a request means. Of the templates that fit, one with a literal segment goes first, whatever
    its methods are: `GET /workloads/batch` is no GET of a workload."""
    parts = path.removeprefix("/").split("/")
    fitting = [template for template in _by_size().get(len(parts), {}) if _fits(template, parts)]
    if not fitting:
        return None
    best = min(fitting, key=lambda template: [part.startswith("{") for part in template])
    return _by_size()[len(parts)][best].get(method)


@cache
def _by_size() -> Mapping[int, Mapping[tuple[str, ...], Mapping[str, Operation]]]:
    found: dict[int, dict[tuple[str, ...], dict[str, Operation]]] = {}
    for operation in operations():
        parts = tuple(operation.path.removeprefix("/").split("/"))
        found.setdefault(len(parts), {}).setdefault(parts, {})[operation.method] = operation
    return found


def _fits(template: Sequence[str], parts: Sequence[str]) -> bool:
    pairs = zip(template, parts, strict=True)
    return all(part != "" if name.startswith("{") else part == name for name, part in pairs)
