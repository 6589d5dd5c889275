"""Field ownership of server-side apply, for the in-memory gateway: paths, merge, managedFields. Pure.

A writer that adds a map owns it beside what is in it; an applier owns leaves, and an empty map is one. Lists are
atomic here. The custom resources that Muster writes have atomic lists but for conditions, which it does not write;
the simulated API server knows list types from schemas.
"""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
Owner = tuple[str, str]  # manager, operation
Owners = dict[Owner, set[Path]]

UNOWNED = frozenset(
    {
        ("apiVersion",),
        ("kind",),
        *(("metadata", key) for key in ("name", "namespace", "uid", "resourceVersion", "generation")),
        *(("metadata", key) for key in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")),
        ("metadata", "managedFields"),
    }
)
CORE_MAPS = frozenset({"data", "binaryData", "labels", "annotations"})
METADATA_PARTS = ("labels", "annotations", "finalizers", "ownerReferences")


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
) -> dict[Owner, set[Path]]:
    """Fields that others own and whose value would change."""
    found: dict[Owner, set[Path]] = {}
    for owner, paths in owners.items():
        changed = {path for path in paths & wanted.keys() if is_changed(live, path, wanted[path])}
        if changed and owner != (manager, "Apply"):
            found[owner] = changed
    return found


def conflict_message(found: Mapping[Owner, set[Path]], api_version: str) -> str:
    """As the API server words it."""
    lines: list[str] = []
    for (manager, operation), paths in sorted(found.items()):
        shown = f'"{manager}"' + (f" using {api_version}" if operation == "Update" else "")
        dotted = ["." + ".".join(path) for path in sorted(paths)]
        if len(found) == len(paths) == 1:
            return f"Apply failed with 1 conflict: conflict with {shown}: {dotted[0]}"
        lines += [f"conflicts with {shown}:", *(f"- {path}" for path in dotted)]
    return f"Apply failed with {sum(map(len, found.values()))} conflicts: " + "\n".join(lines)


def merge(live: dict[str, Any], wanted: Mapping[Path, Any], owners: Owners, manager: str) -> dict[str, Any]:
    """`live` with `wanted` applied by `manager`: set, take over, and remove what it owned alone and left out."""
    result = copy.deepcopy(live)
    others = {owner: paths for owner, paths in owners.items() if owner != (manager, "Apply")}
    kept = set(wanted).union(*others.values())
    for path in owners.get((manager, "Apply"), set()) - set(wanted):
        if not any(other[: len(path)] == path for other in kept):
            remove(result, path)
    for path, value in wanted.items():
        if is_changed(result, path, value):
            for paths in others.values():
                paths.discard(path)
            put(result, path, value)
    owners[(manager, "Apply")] = set(wanted)
    return result


def is_changed(live: Mapping[str, Any], path: Path, value: Any) -> bool:
    """Whether applying this value would change what is there; an empty map changes no map."""
    found = lookup(live, path)
    return found != value and not (value == {} and isinstance(found, Mapping))


def added(before: Mapping[str, Any], after: Mapping[str, Any], *, core: bool) -> set[Path]:
    """The maps that a write added and so owns. The structs of the core's kinds are there from the beginning."""
    within = {path[:length] for path, _ in leaves(after) for length in range(1, len(path))}
    return {
        path
        for path in within
        if lookup(before, path) is None and path != ("metadata",) and (not core or path[-1] in CORE_MAPS)
    }


def without_empty(manifest: dict[str, Any], *, core: bool) -> None:
    """Leave out what Go does not write: empty parts of the metadata, and empty data of the core's kinds."""
    for holder, names in ((manifest["metadata"], METADATA_PARTS), (manifest, CORE_MAPS if core else ())):
        for name in names:
            if name in holder and not holder[name]:
                del holder[name]


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
    for path in paths:
        node = lookup(root, tuple(f"f:{key}" for key in path))
        if node:
            node["."] = {}
    return root
