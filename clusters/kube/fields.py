"""Field ownership of server-side apply, for the in-memory gateway: leaf paths, merge, managedFields. Pure.

Lists are atomic here. The custom resources that Muster writes have atomic lists but for conditions, which it does
not write; the simulated API server knows list types from schemas.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
Owners = dict[tuple[str, str], set[Path]]  # (manager, operation) → leaf paths

UNOWNED = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        *(("metadata", key) for key in ("name", "namespace", "uid", "resourceVersion", "generation")),
        *(("metadata", key) for key in ("creationTimestamp", "deletionTimestamp", "managedFields")),
    }
)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf of a manifest that can be owned, with its value."""
    if path in UNOWNED or (path and path[0] == "status"):
        return
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif path:
        yield path, value


def conflicts(
    live: Mapping[str, Any], wanted: Mapping[Path, Any], owners: Owners, manager: str
) -> dict[str, set[Path]]:
    """Fields that other managers own and whose value would change: manager → paths."""
    found: dict[str, set[Path]] = {}
    for (other, operation), paths in owners.items():
        if (other, operation) == (manager, "Apply"):
            continue
        for path in paths:
            if path in wanted and lookup(live, path) != wanted[path]:
                found.setdefault(other, set()).add(path)
    return found


def merge(live: dict[str, Any], wanted: Mapping[Path, Any], owners: Owners, manager: str) -> dict[str, Any]:
    """`live` with `wanted` applied by `manager`: set, take over, and remove what it owned alone and left out."""
    result = copy.deepcopy(live)
    before = owners.get((manager, "Apply"), set())
    for path in before - set(wanted):
        if not any(path in paths for key, paths in owners.items() if key != (manager, "Apply")):
            remove(result, path)
    for path, value in wanted.items():
        if lookup(result, path) != value:
            for key, paths in owners.items():
                if key != (manager, "Apply"):
                    paths.discard(path)
        put(result, path, value)
    owners[(manager, "Apply")] = set(wanted)
    return result


def lookup(manifest: Mapping[str, Any], path: Path) -> Any:
    """The value at `path`; None where there is none."""
    value: Any = manifest
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def put(manifest: dict[str, Any], path: Path, value: Any) -> None:
    """Set the value at `path`, making the maps on the way."""
    for key in path[:-1]:
        inner = manifest.get(key)
        if not isinstance(inner, dict):
            inner = manifest[key] = {}
        manifest = inner
    manifest[path[-1]] = copy.deepcopy(value)


def remove(manifest: dict[str, Any], path: Path) -> None:
    """Remove the value at `path` and the maps that it leaves empty."""
    inner = manifest.get(path[0])
    if len(path) == 1:
        manifest.pop(path[0], None)
    elif isinstance(inner, dict):
        remove(inner, path[1:])
        if not inner:
            del manifest[path[0]]


def managed_fields(owners: Owners, times: Mapping[tuple[str, str], str], api_version: str) -> list[dict[str, Any]]:
    """`metadata.managedFields` as the API server shows it."""
    return [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": api_version,
            "time": times.get((manager, operation), ""),
            "fieldsType": "FieldsV1",
            "fieldsV1": _as_fields_v1(paths),
        }
        for (manager, operation), paths in owners.items()
        if paths
    ]


def _as_fields_v1(paths: set[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for key in path:
            node = node.setdefault(f"f:{key}", {})
    return root
