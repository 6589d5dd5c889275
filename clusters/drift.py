"""Compares what we render with what is live, and applies only where they differ.

An object is ours when it carries our `OWNER_LABEL` with the same value, or when we made it and somebody else took that
label off or changed it; another's object is never written.
Ownership of fields is read from `metadata.managedFields` (Kubernetes' server-side apply, fieldsV1).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusters.fighting import check_fight
from clusters.kinds import Kind
from clusters.kube.errors import BeingDeleted, FieldConflict, NameTaken
from clusters.kube.gateway import FIELD_MANAGER, Gateway, Manifest
from clusters.names import OWNER_LABEL

Path = tuple[str, ...]
_IDENTITY = frozenset(
    {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")}
)


@dataclass(frozen=True, slots=True)
class Applied:
    """What one `apply_if_different` did. `drift`: dotted paths that somebody else had changed and we put back.
    `made`: there was no such object."""

    changed: bool
    drift: tuple[str, ...] = ()
    live: Manifest | None = None
    made: bool = False


def apply_if_different(gateway: Gateway, kind: Kind, manifest: Manifest) -> Applied:
    """Make `manifest` true with at most one write; none where it is true already.

    Raises `NameTaken` where the object carries another owner's label or none, `BeingDeleted` where somebody deleted it
    and it is still there, `FieldConflict` where another manager holds a field of an object that is not ours (a node,
    say). On our own object such a field is put back.
    """
    metadata = manifest["metadata"]
    owner = owner_of(manifest)
    live = gateway.get(kind, metadata["name"], metadata.get("namespace"))
    if live is None:
        return Applied(changed=True, live=gateway.apply(kind, manifest), made=True)
    if owner and not is_ours(live, owner):
        raise NameTaken(
            f"{kind.kind} {metadata['name']} exists already and was made by {made_by(live)}.",
            made_by=made_by(live),
            target=f"{kind.kind}/{metadata['name']}",
        )
    if owner and "deletionTimestamp" in live["metadata"]:
        raise _being_deleted(kind, live)
    differing = differences(manifest, live)
    if not differing:
        return Applied(changed=False, live=live)
    changed = [path for path in differing if _changed_by_others(path, live)]
    drifted = tuple(".".join(path) for path in changed)
    if owner and drifted:
        others = dict.fromkeys(name for path in changed for name in owners_of(path, live))
        check_fight(
            gateway, str(live["metadata"].get("uid", "")), f"{kind.kind} {metadata['name']}", drifted, tuple(others)
        )
    try:
        applied = gateway.apply(kind, manifest)
    except FieldConflict:
        if not owner:
            raise
        applied = gateway.apply(kind, manifest, force=True)
    return Applied(changed=True, drift=drifted, live=applied)


def _being_deleted(kind: Kind, live: Manifest) -> BeingDeleted:
    metadata = live["metadata"]
    holders = ", ".join(metadata.get("finalizers") or ()) or "none"
    target = f"{kind.kind} {metadata['name']}"
    return BeingDeleted(
        f"{target} was deleted by somebody and is not gone yet (finalizers: {holders}). Muster writes it again then.",
        target=f"{kind.kind}/{metadata['name']}",
    )


def delete_if_ours(gateway: Gateway, kind: Kind, name: str, namespace: str | None = None, *, owner: str) -> bool:
    """Ask for deletion of the object if it carries `owner` in `OWNER_LABEL`. True: nothing of ours is left."""
    live = gateway.get(kind, name, namespace)
    if live is None or not is_ours(live, owner):
        return True
    metadata = live["metadata"]
    if "deletionTimestamp" not in metadata:
        gateway.delete(kind, name, namespace, uid=metadata.get("uid", ""))
    return gateway.get(kind, name, namespace) is None


def owner_of(manifest: Manifest) -> str:
    """The value of `OWNER_LABEL`; empty: not made by Muster."""
    return str((manifest["metadata"].get("labels") or {}).get(OWNER_LABEL, ""))


def is_ours(live: Manifest, owner: str) -> bool:
    """Whether the object belongs to `owner`: labelled so, or made by us and robbed of its label by somebody else."""
    if owner_of(live) == owner:
        return True
    owned = owned_paths(live, FIELD_MANAGER)
    if ("metadata", "labels", OWNER_LABEL) in owned:
        return False  # of another row
    return bool(owned) and (made_by(live) == FIELD_MANAGER or any(path[0] != "metadata" for path in owned))


def made_by(live: Manifest) -> str:
    """The first field manager of an object (kubectl-create, helm, …), or `unknown`."""
    entries = live["metadata"].get("managedFields") or []
    entries = [entry for entry in entries if not entry.get("subresource")] or entries
    return str(min(entries, key=lambda entry: entry.get("time", ""))["manager"]) if entries else "unknown"


def differences(manifest: Manifest, live: Manifest) -> tuple[Path, ...]:
    """Paths at which `live` is not what `manifest` says, or holds a field that we own and no longer render.

    Fields that only `live` has (defaults, status, others' labels) do not count. Pure.
    """
    differing = [path for path in _unequal(manifest, live, ()) if path not in _IDENTITY]
    wanted = set(_leaves(manifest, ()))
    differing += [
        path
        for path in sorted(owned_paths(live, FIELD_MANAGER))
        if path not in _IDENTITY and not _covers(wanted, path) and _present(live, path)
    ]
    return tuple(dict.fromkeys(differing))


def owned_paths(live: Manifest, manager: str) -> frozenset[Path]:
    """Leaf paths that `manager` owns through server-side apply; list items are not looked into."""
    owned: set[Path] = set()
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            owned.update(_field_paths(entry.get("fieldsV1") or {}, ()))
    return frozenset(owned)


def owners_of(path: Path, live: Manifest) -> tuple[str, ...]:
    """The managers but ours that own the field at `path`, or something below it."""
    found = []
    for entry in live["metadata"].get("managedFields") or ():
        fields: Any = entry.get("fieldsV1") or {}
        for key in path:
            fields = fields.get(f"f:{key}") if isinstance(fields, Mapping) else None
        if fields is not None and entry.get("manager") != FIELD_MANAGER:
            found.append(str(entry.get("manager", "unknown")))
    return tuple(dict.fromkeys(found))


def _unequal(wanted: Any, found: Any, path: Path) -> Iterator[Path]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            if key in found or value is not None:
                yield from _unequal(value, found.get(key, _ABSENT), (*path, key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        if any(True for pair in zip(wanted, found, strict=True) for _ in _unequal(*pair, path)):
            yield path
    elif isinstance(wanted, Mapping) and found is _ABSENT and not wanted:
        return  # an empty map and no map are the same to the API server
    elif (type(wanted) is not type(found) and not _same_number(wanted, found)) or wanted != found:
        yield path


_ABSENT = object()


def _same_number(wanted: Any, found: Any) -> bool:
    numbers = (int, float)
    return (
        isinstance(wanted, numbers)
        and isinstance(found, numbers)
        and not isinstance(wanted, bool)
        and not isinstance(found, bool)
        and wanted == found
    )


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path


def _field_paths(fields: Mapping[str, Any], path: Path) -> Iterator[Path]:
    named = {key[2:]: inner for key, inner in fields.items() if key.startswith("f:")}
    if not named:
        if path:
            yield path
        return
    for key, inner in named.items():
        yield from _field_paths(inner, (*path, key))


def _covers(wanted: set[Path], path: Path) -> bool:
    """Whether a rendered leaf lies at, above or below `path`."""
    return any(leaf[: len(path)] == path or path[: len(leaf)] == leaf for leaf in wanted)


def _present(live: Any, path: Path) -> bool:
    for key in path:
        if not isinstance(live, Mapping) or key not in live:
            return False
        live = live[key]
    return True


def _changed_by_others(path: Path, live: Manifest) -> bool:
    """Whether the difference at `path` comes from another manager and not from a change of what we render.

    We own the value: it is what we applied last, so our rendering moved. Nobody of us owns it: somebody changed or
    removed it, unless nobody has written since our last apply (then it is new in what we render). An edit that only
    removed fields leaves no trace in the cluster: it is repaired without being called drift.
    """
    if any(owned[: len(path)] == path or path[: len(owned)] == owned for owned in owned_paths(live, FIELD_MANAGER)):
        return False
    ours, others = "", ""
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("subresource"):
            continue
        if entry.get("manager") == FIELD_MANAGER:
            ours = max(ours, entry.get("time", ""))
        else:
            others = max(others, entry.get("time", ""))
    return bool(ours) and others >= ours
