"""A gateway over a dictionary, for tests of reconcilers: server-side apply with field ownership, conflicts,
finalizers and owner references; counts its calls and fails where it is told to. Passes the gateway's contract tests.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters import kinds
from clusters.kinds import Kind
from clusters.kube import fields
from clusters.kube.errors import (
    AlreadyChanged,
    FieldConflict,
    GatewayError,
    NamespaceMissing,
    NotServed,
    Rejected,
)
from clusters.kube.gateway import FIELD_MANAGER, Manifest, Served
from clusters.kube.matching import merge_patch, selects
from clusters.names import check_object_name
from clusters.rbac import needed_permissions
from core.moments import rfc3339

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_Key = tuple[str, str, str, str]  # group, plural, namespace, name


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the gateway, as it was asked for."""

    verb: str
    kind: str
    name: str = ""
    namespace: str = ""
    force: bool = False
    dry_run: bool = False

    @property
    def writes(self) -> bool:
        """Whether it can change the cluster."""
        return self.verb in ("apply", "delete") and not self.dry_run


@dataclass(slots=True)
class _Stored:
    manifest: Manifest
    owners: fields.Owners = field(default_factory=dict)
    times: dict[tuple[str, str], str] = field(default_factory=dict)


class FakeGateway:
    """One cluster in memory. All kinds of `clusters.kinds` are served at first; namespace `default` exists."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.texts: dict[str, str] = {}
        self.denied: set[tuple[str, str]] = set()  # (verb, resource) that the credential may not
        self.version = "v1.33.1"
        self._served: dict[tuple[str, str], list[str]] = {}
        for kind in vars(kinds).values():
            if isinstance(kind, Kind):
                self._served.setdefault((kind.group, kind.plural), []).append(kind.version)
        self._objects: dict[_Key, _Stored] = {}
        self._failures: dict[int, tuple[GatewayError, bool]] = {}
        self._clock = 0
        self.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})

    # What tests set up and look at.

    @property
    def writes(self) -> list[Call]:
        """The calls that can have changed the cluster, in order."""
        return [call for call in self.calls if call.writes]

    @property
    def reads(self) -> list[Call]:
        """The other calls, in order."""
        return [call for call in self.calls if not call.writes]

    def serve(self, kind: Kind, versions: Sequence[str]) -> None:
        """Serve exactly these versions of the kind's group and plural; none: the CRD is missing."""
        self._served[(kind.group, kind.plural)] = list(versions)

    def fail_at(self, k: int, error: GatewayError) -> None:
        """Let the k-th call from now (1 = the next) raise `error` without reaching the cluster."""
        self._failures[len(self.calls) + k] = (error, False)

    def lose_answer_at(self, k: int, error: GatewayError) -> None:
        """Let the k-th call from now do its work in the cluster and raise `error` all the same."""
        self._failures[len(self.calls) + k] = (error, True)

    def put(self, kind: Kind, manifest: Manifest, *, manager: str = "kubectl-create") -> Manifest:
        """Create or replace an object as somebody else (`manager`) would; not counted as a call."""
        key = self._key(kind, manifest["metadata"]["name"], manifest["metadata"].get("namespace"))
        before = self._objects.get(key)
        stored = _Stored(copy.deepcopy(manifest))
        if before is not None:
            stored.owners, stored.times = before.owners, before.times
        changed = {
            path
            for path, value in fields.leaves(manifest)
            if before is None or fields.lookup(before.manifest, path) != value
        }
        gone = {path for paths in stored.owners.values() for path in paths if fields.lookup(manifest, path) is None}
        for paths in stored.owners.values():
            paths.difference_update(changed | gone)
        stored.owners.setdefault((manager, "Update"), set()).update(changed)
        stored.times[(manager, "Update")] = self._tick()
        return self._store(key, stored, before, kind)

    def edit(
        self, kind: Kind, name: str, namespace: str | None = None, *, manager: str = "kubectl-edit", **top: Any
    ) -> Manifest:
        """Merge `top` (spec={…}, metadata={…}) into an object as somebody else would; None removes a key."""
        live = self.object(kind, name, namespace)
        return self.put(kind, merge_patch(live, top), manager=manager)

    def set_status(self, kind: Kind, name: str, namespace: str | None = None, *, status: Manifest) -> None:
        """Write the status as a controller would, through the subresource."""
        stored = self._objects[self._key(kind, name, namespace)]
        stored.manifest["status"] = copy.deepcopy(status)
        stored.manifest["metadata"]["resourceVersion"] = str(self._next())

    def object(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest:
        """The live object, not counted as a call; KeyError where it is absent."""
        return copy.deepcopy(self._objects[self._key(kind, name, namespace)].manifest)

    def names(self, kind: Kind, namespace: str | None = None) -> list[str]:
        """Names of the live objects, sorted, not counted as a call."""
        return sorted(
            name
            for group, plural, space, name in self._objects
            if (group, plural) == (kind.group, kind.plural) and namespace in (None, space)
        )

    def release(self, kind: Kind, name: str, namespace: str | None = None) -> None:
        """Take all finalizers off an object, as its controller does at last; it goes if it was being deleted."""
        key = self._key(kind, name, namespace)
        self._objects[key].manifest["metadata"].pop("finalizers", None)
        if "deletionTimestamp" in self._objects[key].manifest["metadata"]:
            self._remove(key)

    # The gateway protocol.

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        """See `Gateway.get`."""
        with _Counted(self, Call("get", kind.kind, name, namespace or "")):
            stored = self._objects.get(self._key(kind, name, namespace))
            self._check_served(kind)
            return self._shown(stored, kind) if stored else None

    def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str = "") -> Sequence[Manifest]:
        """See `Gateway.list`."""
        with _Counted(self, Call("list", kind.kind, "", namespace or "")):
            self._check_served(kind)
            if namespace:
                check_object_name(namespace, field="namespace")
            found = sorted(item for item in self._objects.items() if item[0][:2] == (kind.group, kind.plural))
            return [
                self._shown(stored, kind)
                for key, stored in found
                if namespace in (None, key[2])
                and selects(label_selector, stored.manifest["metadata"].get("labels") or {})
            ]

    def apply(
        self,
        kind: Kind,
        manifest: Manifest,
        *,
        force: bool = False,
        dry_run: bool = False,
        manager: str = FIELD_MANAGER,
    ) -> Manifest:
        """See `Gateway.apply`."""
        name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace")
        with _Counted(self, Call("apply", kind.kind, name, namespace or "", force, dry_run)):
            key = self._key(kind, name, namespace)
            self._check_served(kind)
            if (manifest.get("apiVersion"), manifest.get("kind")) != (kind.api_version, kind.kind):
                raise Rejected(f"{manifest.get('apiVersion')} {manifest.get('kind')} sent to {kind.path()}", status=400)
            before = self._objects.get(key)
            self._check_preconditions(key, manifest, before)
            wanted = dict(fields.leaves(manifest))
            stored = copy.deepcopy(before) if before else _Stored({"metadata": {}})
            others = fields.conflicts(stored.manifest, wanted, stored.owners, manager)
            if others and not force:
                raise FieldConflict(_conflict_message(others), target=f"{kind.kind}/{name}", status=409)
            stored.manifest = fields.merge(stored.manifest, wanted, stored.owners, manager)
            stored.manifest |= {"apiVersion": kind.api_version, "kind": kind.kind}
            stored.manifest["metadata"] |= {"name": name} | ({"namespace": namespace} if namespace else {})
            unchanged = before is not None and stored.manifest == before.manifest and stored.owners == before.owners
            if unchanged or dry_run:
                return self._shown(stored, kind)
            stored.times[(manager, "Apply")] = self._tick()
            return self._store(key, stored, before, kind)

    def delete(self, kind: Kind, name: str, namespace: str | None = None, *, uid: str = "") -> bool:
        """See `Gateway.delete`."""
        with _Counted(self, Call("delete", kind.kind, name, namespace or "")):
            key = self._key(kind, name, namespace)
            self._check_served(kind)
            stored = self._objects.get(key)
            if stored is None:
                return False
            metadata = stored.manifest["metadata"]
            if uid and metadata["uid"] != uid:
                raise AlreadyChanged(f"the UID in the precondition ({uid}) is not {metadata['uid']}", status=409)
            if metadata.get("finalizers"):
                metadata.setdefault("deletionTimestamp", self._tick())
            else:
                self._remove(key)
            return True

    def served_versions(self, kind: Kind) -> Sequence[str]:
        """See `Gateway.served_versions`."""
        with _Counted(self, Call("discover", kind.kind)):
            return tuple(self._served.get((kind.group, kind.plural), ()))

    def server_version(self) -> str:
        """See `Gateway.server_version`."""
        with _Counted(self, Call("discover", "version")):
            return self.version

    def served_resources(self) -> Served:
        """See `Gateway.served_resources`."""
        with _Counted(self, Call("discover", "all")):
            found: Served = {}
            for (group, plural), versions in self._served.items():
                if versions:
                    found.setdefault(group, {})[plural] = list(versions)
            return found

    def may(self, verb: str, group: str, resource: str) -> bool:
        """See `Gateway.may`."""
        with _Counted(self, Call("review", resource, verb)):
            return (verb, resource) not in self.denied

    def rules(self, namespace: str) -> Sequence[Manifest] | None:
        """See `Gateway.rules`: what is needed, without what is denied."""
        with _Counted(self, Call("review", "rules", namespace)):
            return [
                {"verbs": [needed.verb], "apiGroups": [needed.group], "resources": [needed.resource]}
                for needed in needed_permissions()
                if (needed.verb, needed.resource) not in self.denied
            ]

    def read_text(self, path: str, *, timeout: float = 5.0) -> str:
        """See `Gateway.read_text`."""
        with _Counted(self, Call("read", path)):
            if path not in self.texts:
                raise NotServed(f"{path} is not there", target=path, status=404)
            return self.texts[path]

    # Below: how it is kept.

    def before_call(self, call: Call) -> GatewayError | None:
        """Count the call; raise the failure set for it, or return the one to raise after its work."""
        self.calls.append(call)
        error, after = self._failures.pop(len(self.calls), (None, False))
        if error is not None and not after:
            raise error
        return error

    def _key(self, kind: Kind, name: str, namespace: str | None) -> _Key:
        check_object_name(name)
        if kind.namespaced:
            check_object_name(namespace or "", field="namespace")
        return (kind.group, kind.plural, (namespace or "") if kind.namespaced else "", name)

    def _check_served(self, kind: Kind) -> None:
        if kind.version not in self._served.get((kind.group, kind.plural), ()):
            raise NotServed(f"{kind.api_version} {kind.plural} is not served", target=kind.path(), status=404)

    def _check_preconditions(self, key: _Key, manifest: Manifest, before: _Stored | None) -> None:
        if key[2] and ("", "namespaces", "", key[2]) not in self._objects:
            raise NamespaceMissing(f'namespaces "{key[2]}" not found', target=key[2], status=404)
        uid = manifest["metadata"].get("uid")
        if uid and before is None:
            raise AlreadyChanged(f"uid mismatch: no object {key[3]} with uid {uid}", target=key[3], status=409)
        if uid and before is not None and before.manifest["metadata"]["uid"] != uid:
            raise Rejected(f'metadata.uid: Invalid value: "{uid}": field is immutable', target=key[3], status=422)

    def _store(self, key: _Key, stored: _Stored, before: _Stored | None, kind: Kind) -> Manifest:
        metadata = stored.manifest["metadata"]
        metadata.pop("managedFields", None)
        old = before.manifest if before else None
        if old is None:
            metadata.setdefault("uid", f"uid-{self._next():08d}")
            metadata.setdefault("creationTimestamp", self._tick())
            metadata["generation"] = 1
        else:
            kept = ("uid", "creationTimestamp", "deletionTimestamp")
            metadata |= {k: old["metadata"][k] for k in kept if k in old["metadata"]}
            metadata["generation"] = old["metadata"]["generation"] + (old.get("spec") != stored.manifest.get("spec"))
            if "status" in old:
                stored.manifest.setdefault("status", old["status"])
        metadata["resourceVersion"] = str(self._next())
        self._objects[key] = stored
        return self._shown(stored, kind)

    def _shown(self, stored: _Stored, kind: Kind) -> Manifest:
        shown = copy.deepcopy(stored.manifest)
        shown |= {"apiVersion": kind.api_version, "kind": kind.kind}
        shown["metadata"]["managedFields"] = fields.managed_fields(stored.owners, stored.times, kind.api_version)
        return shown

    def _remove(self, key: _Key) -> None:
        uid = self._objects.pop(key).manifest["metadata"]["uid"]
        owned = [
            other
            for other, stored in self._objects.items()
            if any(ref.get("uid") == uid for ref in stored.manifest["metadata"].get("ownerReferences", ()))
            or (key[1] == "namespaces" and other[2] == key[3])
        ]
        for other in owned:
            if other in self._objects and not self._objects[other].manifest["metadata"].get("finalizers"):
                self._remove(other)

    def _next(self) -> int:
        self._clock += 1
        return self._clock

    def _tick(self) -> str:
        return rfc3339(EPOCH + timedelta(seconds=self._next()))


class _Counted:
    """Counts a call and raises the failure that was set for it, before or after its work."""

    def __init__(self, gateway: FakeGateway, call: Call) -> None:
        self._gateway, self._call = gateway, call
        self._later: GatewayError | None = None

    def __enter__(self) -> None:
        self._later = self._gateway.before_call(self._call)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None and self._later is not None:
            raise self._later


def _conflict_message(others: dict[str, set[fields.Path]]) -> str:
    parts = [
        f'"{manager}": ' + ", ".join("." + ".".join(p) for p in sorted(paths)) for manager, paths in others.items()
    ]
    return f"Apply failed with {sum(map(len, others.values()))} conflict(s) with {'; '.join(parts)}"
