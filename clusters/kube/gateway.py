"""The only way from Muster to a Kubernetes API server, as a protocol. Implementations: `client`, `fake`."""

from collections.abc import Sequence
from typing import Any, Protocol

from clusters.kinds import Kind

Manifest = dict[str, Any]
Served = dict[str, dict[str, list[str]]]  # group → plural → versions

FIELD_MANAGER = "muster"


class Gateway(Protocol):
    """One cluster. Every method raises a `GatewayError`; a missing object is None, never an error.

    Names and namespaces are validated before they become part of a URL. Each call has a timeout.
    """

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        """The live object."""
        ...

    def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str = "") -> Sequence[Manifest]:
        """All objects, pages joined. Raises `NotServed` where the kind is not served."""
        ...

    def apply(
        self,
        kind: Kind,
        manifest: Manifest,
        *,
        force: bool = False,
        dry_run: bool = False,
        manager: str = FIELD_MANAGER,
    ) -> Manifest:
        """Server-side apply as `manager`. Raises `FieldConflict` where another manager owns a field."""
        ...

    def own_alone(self, kind: Kind, live: Manifest, section: str) -> Manifest:
        """Take the ownership of `section`, a key of the object, from everybody else: what an apply of ours leaves out
        goes from then on. No field changes. Raises `AlreadyChanged` where the object is not as `live` any more."""
        ...

    def delete(self, kind: Kind, name: str, namespace: str | None = None, *, uid: str = "") -> bool:
        """Ask for deletion in the background. False: it was already gone. `uid` is a precondition."""
        ...

    def served_versions(self, kind: Kind) -> Sequence[str]:
        """Versions in which the API server serves this group and plural, its preferred one first."""
        ...

    def server_version(self) -> str:
        """Version of the API server, as `v1.33.1`."""
        ...

    def served_resources(self) -> Served:
        """All that is served: group → plural → versions, the preferred one first. The core group is ""."""
        ...

    def may(self, verb: str, group: str, resource: str) -> bool:
        """Whether the credential is allowed `verb` on `resource` (plural, or plural/subresource) in every namespace."""
        ...

    def rules(self, namespace: str) -> Sequence[Manifest] | None:
        """What the credential is allowed there and everywhere, `resourceRules` of a SelfSubjectRulesReview; None:
        the API server does not know all of it."""
        ...

    def read_text(self, path: str, *, timeout: float = 5.0) -> str:
        """GET of a plain-text path with its query, if any (pod logs, exporters through the proxy path)."""
        ...
