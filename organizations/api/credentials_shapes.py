"""Shapes of credentials (`runai-openapi.json`: GenericSecret, DockerRegistry, …)."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

from clusters.names import RFC1123_SUBDOMAIN
from core.api.limits import Uuid, either, limited
from core.api.shapes import UNSET, Shape, UnsetType
from organizations.secrets import KEY, PASSWORD, PRINTABLE, USER

Name = Annotated[str, limited(RFC1123_SUBDOMAIN, maxLength=253)]
Text = Annotated[str, limited(minLength=1)]
No = Annotated[bool, limited(const=False)]
Scope = Literal["project", "department", "cluster", "tenant"]


def _seen(rule: re.Pattern[str]) -> re.Pattern[str]:
    """`rule` of a text that is not blank."""
    return re.compile(rf"(?=.*\S){rule.pattern}")


class CredentialMeta(Shape):
    """Where a credential lies and who made it; ids of what is above its scope."""

    id: str
    name: str
    kind: str
    scope: Scope
    tenant_id: int
    created_by: str
    created_at: str
    updated_by: str
    updated_at: str
    project_id: int | UnsetType = UNSET
    project_name: str | UnsetType = UNSET
    department_id: str | UnsetType = UNSET
    cluster_id: str | UnsetType = UNSET


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
    """Name of a credential, and where: each project of a department, a cluster or the tenant gets it."""

    name: Name
    scope: Scope
    project_id: int | str | None = None
    department_id: int | str | None = None
    cluster_id: Uuid | None = None
    auto_delete: No | None = None
    workload_supported_types: dict[str, bool | str | None] | None = None
    private: No | None = None


_ID = {"type": ["integer", "string"]}
_UNUSED = {key: {"type": "null"} for key in ("projectId", "departmentId", "clusterId")}
PlacedMeta = Annotated[
    CredentialMetaGiven,
    either(
        {**_UNUSED, "scope": {"const": "project"}, "projectId": _ID},
        {**_UNUSED, "scope": {"const": "department"}, "departmentId": _ID},
        {**_UNUSED, "scope": {"const": "cluster"}, "clusterId": {"type": "string"}},
        {**_UNUSED, "scope": {"const": "tenant"}},
    ),
]


class KeyGiven(Shape):
    """A key and its value."""

    key: Annotated[str, limited(KEY)]
    value: str


class SpecGiven(Shape, rename=None):
    """What every kind takes: Muster keeps the secret itself."""

    existingSecretName: None = None


class GenericSpec(SpecGiven, kw_only=True):
    """Keys and their values, each key once."""

    keyValuePairs: Annotated[list[KeyGiven], limited(minItems=1)]


class RegistrySpec(SpecGiven, kw_only=True):
    """A registry's address and login."""

    url: Annotated[str, limited(PRINTABLE, minLength=1)]
    user: Annotated[str, limited(_seen(USER))]
    password: Annotated[str, limited(_seen(PASSWORD))]


class PasswordSpec(SpecGiven, kw_only=True):
    """A login."""

    user: Text
    password: Text


class AccessKeySpec(SpecGiven, kw_only=True):
    """An access key of an object store."""

    accessKeyId: Text
    secretAccessKey: Text


class NgcSpec(SpecGiven, kw_only=True):
    """A key of NVIDIA's catalogue."""

    ngc_api_key: Text


Spec = TypeVar("Spec")


class CredentialCreation(Shape, Generic[Spec]):
    """A new credential."""

    meta: PlacedMeta
    spec: Spec


class CredentialRenaming(Shape):
    """A credential's new name."""

    name: Name | UnsetType = UNSET


class CredentialChange(Shape, Generic[Spec]):
    """A new name, or new content."""

    meta: CredentialRenaming | None = None
    spec: Spec | None = None


# By the path of the kind.
CREATIONS: Mapping[str, Any] = {
    "generic-secret": CredentialCreation[GenericSpec],
    "docker-registry": CredentialCreation[RegistrySpec],
    "password": CredentialCreation[PasswordSpec],
    "access-key": CredentialCreation[AccessKeySpec],
    "ngc-api-key": CredentialCreation[NgcSpec],
}
CHANGES: Mapping[str, Any] = {
    "generic-secret": CredentialChange[GenericSpec],
    "docker-registry": CredentialChange[RegistrySpec],
    "password": CredentialChange[PasswordSpec],
    "access-key": CredentialChange[AccessKeySpec],
    "ngc-api-key": CredentialChange[NgcSpec],
}
