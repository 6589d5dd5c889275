"""Shapes of credentials (`runai-openapi.json`: GenericSecret, DockerRegistry, …)."""

from typing import Any, Literal

from core.api.shapes import UNSET, Shape, UnsetType


class CredentialMeta(Shape):
    """Where a credential lies and who made it."""

    id: str
    name: str
    kind: str
    scope: str
    project_id: int
    project_name: str
    department_id: str
    cluster_id: str
    tenant_id: int
    created_by: str
    created_at: str
    updated_by: str
    updated_at: str


class KeyShown(Shape):
    """A key; its value is never shown."""

    key: str
    value: None


class CredentialSpec(Shape):
    """What a credential holds."""

    key_id: int
    key_value_pairs: list[KeyShown] | UnsetType = UNSET


class Credential(Shape):
    """One credential."""

    meta: CredentialMeta
    spec: CredentialSpec


class CredentialList(Shape):
    """Credentials of one kind."""

    entries: list[Credential]


class AnyCredential(Shape):
    """One credential; `spec` says its kind."""

    meta: CredentialMeta
    spec: dict[str, CredentialSpec]


class AnyCredentialList(Shape):
    """Credentials of every kind."""

    entries: list[AnyCredential]


class CredentialMetaGiven(Shape):
    """Name and project of a credential."""

    name: str
    scope: Literal["project"]
    project_id: int | str
    department_id: int | str | None = None
    cluster_id: str | None = None
    auto_delete: bool | None = None
    workload_supported_types: Any = None
    private: bool | None = None


class KeyGiven(Shape, forbid_unknown_fields=False):
    """A key and its value."""

    key: str
    value: str


class CredentialSpecGiven(Shape, rename=None):
    """What a credential holds: pairs of a generic secret, else the fields of its kind."""

    keyValuePairs: list[KeyGiven] | None = None
    existingSecretName: None = None
    url: str | None = None
    user: str | None = None
    password: str | None = None
    accessKeyId: str | None = None
    secretAccessKey: str | None = None
    ngc_api_key: str | None = None


class CredentialCreation(Shape):
    """A new credential."""

    meta: CredentialMetaGiven
    spec: CredentialSpecGiven


class CredentialRenaming(Shape):
    """A credential's new name."""

    name: str | None = None


class CredentialChange(Shape):
    """A new name, or new content."""

    meta: CredentialRenaming | None = None
    spec: CredentialSpecGiven | None = None
