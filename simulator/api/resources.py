"""What the server serves: one `Resource` per group, version and plural, and the registry that finds them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clusters.kinds import Kind
from simulator.api.schema import Schema
from simulator.api.store import CollectionName
from simulator.client import Object

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
REVIEW_VERBS = ("create",)

FieldGetter = Callable[[Object], str]
Convert = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Scale:
    """JSON paths (`.spec.replicas`) of the `/scale` subresource."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One Table column: a function of the object, `priority` > 0 is shown only with `-o wide`."""

    name: str
    value: Callable[[Object], object]
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""


@dataclass(frozen=True)
class Resource:
    """One served resource. `storage` names the collection; several versions (or groups) may share one."""

    kind: Kind
    storage: CollectionName
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: frozenset[str] = frozenset()
    schema: Schema | None = None
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    fields: Mapping[str, FieldGetter] = field(default_factory=dict)
    from_storage: Convert | None = None
    to_storage: Convert | None = None
    custom: bool = False
    generation: bool = True
    list_kind: str = ""
    deprecated: str = ""

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def items_kind(self) -> str:
        return self.list_kind or f"{self.kind.kind}List"

    @property
    def view_name(self) -> str:
        """Under which name an entry remembers its bytes in this version; "" for the storage version."""
        return self.kind.api_version if self.from_storage is not None else ""


def name_of(body: Object) -> str:
    return str(body["metadata"].get("name", ""))


def namespace_of(body: Object) -> str:
    return str(body["metadata"].get("namespace", ""))


METADATA_FIELDS: dict[str, FieldGetter] = {"metadata.name": name_of, "metadata.namespace": namespace_of}


class Registry:
    """Served resources by (group, version, plural); custom ones come and go with their CRDs."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self._preferred: dict[str, list[str]] = {}
        self.generation = 0  # grows with every change

    def add(self, resource: Resource) -> None:
        kind = resource.kind
        self.generation += 1
        self._resources[(kind.group, kind.version, kind.plural)] = resource
        versions = self._preferred.setdefault(kind.group, [])
        if kind.version not in versions:
            versions.append(kind.version)
            versions.sort(key=version_priority, reverse=True)

    def remove(self, group: str, version: str, plural: str) -> None:
        self.generation += 1
        self._resources.pop((group, version, plural), None)
        if not any(key[:2] == (group, version) for key in self._resources):
            versions = self._preferred.get(group, [])
            if version in versions:
                versions.remove(version)
            if not versions:
                self._preferred.pop(group, None)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._resources.get((group, version, plural))

    def stored_in(self, storage: CollectionName) -> Resource | None:
        """The resource of the storage version of a collection."""
        for resource in self._resources.values():
            if resource.storage == storage and resource.from_storage is None:
                return resource
        return None

    def groups(self) -> dict[str, list[str]]:
        """Served groups with their versions, the preferred one first."""
        return {group: list(versions) for group, versions in self._preferred.items()}

    def in_version(self, group: str, version: str) -> list[Resource]:
        return [found for key, found in self._resources.items() if key[:2] == (group, version)]

    def all(self) -> list[Resource]:
        return list(self._resources.values())


def version_priority(version: str) -> tuple[int, int, int]:
    """Kubernetes' version order: v2 > v1 > v1beta2 > v1beta1 > v1alpha1."""
    text = version.removeprefix("v")
    for rank, word in ((1, "beta"), (0, "alpha")):
        major, found, minor = text.partition(word)
        if found:
            return rank, _number(major), _number(minor)
    return 2, _number(text), 0


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
