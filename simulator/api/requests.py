"""What a request asks for, once its URL, query and credentials are understood."""

from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.api.resources import Resource
from simulator.api.store import Entry


@dataclass(frozen=True, slots=True)
class User:
    """Who asks; `extra` is copied into reviews."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = field(default_factory=dict)


ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


class Target(NamedTuple):
    """The addressed object or collection; `namespace` None means all of them, or a cluster-scoped resource."""

    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace or "", self.name)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Query parameters of writes. `field_validation`: `Ignore`, `Warn` or `Strict`.

    `warnings` gathers what the caller is told, whether the write succeeds or not.
    """

    user: User = ADMIN
    field_manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    field_validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Body and query of deletes. `propagation`: `Background`, `Foreground` or `Orphan`."""

    user: User = ADMIN
    propagation: str = "Background"
    uid: str = ""
    resource_version: str = ""
    grace_seconds: int | None = None
    dry_run: bool = False


@dataclass(slots=True)
class Written:
    """A write's outcome: the stored (or with dry-run: would-be) entry."""

    entry: Entry
    created: bool = False
