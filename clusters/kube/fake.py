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
from clusters.kube import fields, refusals
from clusters.kube.errors import FieldConflict, GatewayError, NotServed
from clusters.kube.gateway import FIELD_MANAGER, Manifest, Served
from clusters.kube.matching import merge_patch, selects
from clusters.names import check_object_name
from clusters.rbac import needed_permissions
from core.moments import rfc3339

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
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
        return self.verb in ("apply", "own", "delete") and not self.dry_run


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
        old = before.manifest if before else {}
        changed = {path for path, value in fields.leaves(manifest) if fields.lookup(old, path) != value}
        for paths in stored.owners.values():
            paths.difference_update(changed)
            paths.difference_update({path for path in paths if _is_gone(path, old, manifest)})
        changed |= fields.added(old, manifest, core=not kind.group)
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
            refusals.check_body(kind, manifest)
            before = self._objects.get(key)
            live = before.manifest if before else None
            self._check_namespace(key)
            refusals.check_uid(kind, manifest, live)
            wanted = dict(fields.leaves(manifest))
            stored = copy.deepcopy(before) if before else _Stored({"metadata": {}})
            others = fields.conflicts(stored.manifest, wanted, stored.owners, manager)
            if others and not force:
                message = fields.conflict_message(others, kind.api_version)
                raise FieldConflict(message, target=f"{kind.kind}/{name}", status=409)
            refusals.check_version(kind, manifest, live)
            stored.manifest = fields.merge(stored.manifest, wanted, stored.owners, manager)
            stored.manifest |= {"apiVersion": kind.api_version, "kind": kind.kind}
            stored.manifest["metadata"] |= {"name": name} | ({"namespace": namespace} if namespace else {})
            fields.without_empty(stored.manifest, core=not kind.group)
            unchanged = before is not None and stored.manifest == live and stored.owners == before.owners
            if unchanged or dry_run:
                self._identify(stored.manifest, live, kind)
                return self._shown(stored, kind)
            stored.times[(manager, "Apply")] = self._tick()
            return self._store(key, stored, before, kind)

    def own_alone(self, kind: Kind, live: Manifest, section: str) -> Manifest:
        """See `Gateway.own_alone`."""
        name, namespace = live["metadata"]["name"], live["metadata"].get("namespace")
        with _Counted(self, Call("own", kind.kind, name, namespace or "")):
            stored = self._objects[self._key(kind, name, namespace)]
            refusals.check_version(kind, live, stored.manifest)
            for owner, paths in stored.owners.items():
                if owner != (FIELD_MANAGER, "Apply"):
                    paths.difference_update([path for path in paths if path[0] == section])
            stored.owners = {owner: paths for owner, paths in stored.owners.items() if paths}
            stored.manifest["metadata"]["resourceVersion"] = str(self._next())
            return self._shown(stored, kind)

    def delete(self, kind: Kind, name: str, namespace: str | None = None, *, uid: str = "") -> bool:
        """See `Gateway.delete`."""
        with _Counted(self, Call("delete", kind.kind, name, namespace or "")):
            key = self._key(kind, name, namespace)
            self._check_served(kind)
            refusals.check_mortal(kind, name)
            stored = self._objects.get(key)
            if stored is None:
                return False
            refusals.check_precondition(kind, stored.manifest, uid)
            metadata = stored.manifest["metadata"]
            if metadata.get("finalizers"):
                self._mark(metadata)
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
            raise refusals.not_served(kind)

    def _check_namespace(self, key: _Key) -> None:
        if key[2] and ("", "namespaces", "", key[2]) not in self._objects:
            raise refusals.namespace_missing(key[2])

    def _store(self, key: _Key, stored: _Stored, before: _Stored | None, kind: Kind) -> Manifest:
        self._identify(stored.manifest, before.manifest if before else None, kind)
        metadata = stored.manifest["metadata"]
        metadata["resourceVersion"] = str(self._next())
        self._objects[key] = stored
        shown = self._shown(stored, kind)
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self._remove(key)
        return shown

    def _identify(self, manifest: Manifest, old: Manifest | None, kind: Kind) -> None:
        """What the server writes into an object, and keeps."""
        metadata = manifest["metadata"]
        metadata.pop("managedFields", None)
        if old is None:
            metadata.setdefault("uid", f"00000000-0000-4000-8000-{self._next():012d}")
            metadata.setdefault("creationTimestamp", self._tick())
            metadata |= {"generation": 1} if kind.group else {}
            return
        metadata |= {name: old["metadata"][name] for name in KEPT if name in old["metadata"]}
        if kind.group and old.get("spec") != manifest.get("spec"):
            metadata["generation"] += 1
        if "status" in old:
            manifest.setdefault("status", old["status"])

    def _shown(self, stored: _Stored, kind: Kind) -> Manifest:
        shown = copy.deepcopy(stored.manifest)
        shown |= {"apiVersion": kind.api_version, "kind": kind.kind}
        shown["metadata"]["managedFields"] = fields.managed_fields(stored.owners, stored.times, kind.api_version)
        return shown

    def _mark(self, metadata: Manifest) -> None:
        """As being deleted, once."""
        if "deletionTimestamp" not in metadata:
            metadata |= {"deletionTimestamp": self._tick(), "deletionGracePeriodSeconds": 0}
            metadata["resourceVersion"] = str(self._next())

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


def _is_gone(path: fields.Path, old: Manifest, new: Manifest) -> bool:
    return fields.lookup(new, path) is None and fields.lookup(old, path) is not None
