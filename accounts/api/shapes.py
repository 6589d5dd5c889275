"""Shapes of users, service accounts, keys, roles, access rules and the audit log (`runai-openapi.json`)."""

import re
from typing import Annotated, Any, Literal

from accounts.roles import ACTIONS, GROUP_OF
from accounts.services.keys import NAME, NAME_LENGTH
from accounts.services.roles import NAME_LENGTH as ROLE_NAME_LENGTH
from accounts.services.users import EMAIL, EMAIL_LENGTH
from core.api.limits import Description, Moment, either, limited
from core.api.shapes import UNSET, Encoded, Meta, Shape, UnsetType
from core.readable import READABLE

MAX_BATCH = 200
SubjectType = Literal["user", "service-account", "app", "group"]
ScopeKind = Literal["tenant", "cluster", "department", "project"]
Name = Annotated[str, limited(NAME, maxLength=NAME_LENGTH)]
RoleName = Annotated[str, limited(re.compile(rf"(?=\S)(?:{READABLE.pattern})(?<=\S)"), maxLength=ROLE_NAME_LENGTH)]
Email = Annotated[str, limited(EMAIL, maxLength=EMAIL_LENGTH)]
SubjectId = Annotated[str, limited(minLength=1, maxLength=300)]
ResourceType = Annotated[str, limited(enum=list(GROUP_OF))]
Action = Annotated[str, limited(enum=list(ACTIONS))]


class UserShape(Shape):
    """One person."""

    id: str
    username: str
    created_by: str
    created_at: str
    updated_at: str
    last_login: str | None
    is_local: bool
    groups: list[str]


class UserCreation(Shape):
    """A new local person."""

    email: Email
    reset_password: bool | None = None
    notify: bool | None = None


class UserCreated(Shape):
    """The person and the password for the first sign-in, shown this once."""

    id: str
    username: str
    temp_password: str
    temp_password_expires_at: str


class TempPassword(Shape):
    """A password for the next sign-in, shown this once."""

    temp_password: str
    temp_password_expires_at: str


class PasswordChange(Shape):
    """One's own password, old and new."""

    current_password: str
    new_password: str


class Nothing(Shape):
    """An empty object."""


class ServiceAccountShape(Shape):
    """One service account; `clientId` is that of its key."""

    id: str
    name: str
    client_id: str
    enabled: bool
    tenant_id: str
    created_by: str
    created_at: str
    updated_at: str
    last_login: str | None


class Named(Shape):
    """A new object's name."""

    name: Name


class Enabled(Shape):
    """On or off."""

    enabled: bool


class ServiceAccountCreated(Shape):
    """The account and its secret, shown this once; older paths call it `secret`."""

    id: str
    name: str
    client_id: str
    client_secret: str | UnsetType = UNSET
    secret: str | UnsetType = UNSET


class SecretShown(Shape):
    """A secret, shown this once; older paths call it `secret`."""

    client_secret: str | UnsetType = UNSET
    secret: str | UnsetType = UNSET


class AccessKeyShape(Shape):
    """One key, without its secret; `createdBy` in lists for administrators."""

    id: str
    name: str
    client_id: str
    created_at: str
    last_login: str | None
    created_by: str | UnsetType = UNSET


class AccessKeyList(Shape):
    """Keys."""

    access_keys: list[AccessKeyShape]


class AccessKeyCreation(Shape):
    """A new key of one's own. `expiresAt` is to come."""

    name: Name
    expires_at: Moment | None = None


class AccessKeyCreated(Shape):
    """The key and its secret, shown this once; older paths call it `secret`."""

    id: str
    name: str
    client_id: str
    created_at: str
    client_secret: str | UnsetType = UNSET
    secret: str | UnsetType = UNSET


class PermissionShape(Shape):
    """What may be done to one type of resource."""

    resource_type: str
    display_name: str
    group_id: str
    actions: list[str]


class RoleShape(Shape):
    """One role."""

    id: int
    name: str
    description: str
    permissions: list[PermissionShape]
    custom: bool
    enabled: bool
    effective_enabled: bool
    created_at: str
    updated_at: str
    created_by: str


class PermissionGiven(Shape):
    """Actions on one type of resource, which may be named as it is shown."""

    resource_type: ResourceType
    actions: Annotated[list[Action], limited(minItems=1)]
    display_name: str | None = None
    group_id: str | None = None


Permissions = Annotated[list[PermissionGiven], limited(minItems=1)]
NoKubernetesPermissions = Annotated[
    dict[str, Any], limited(properties={"predefinedRole": {"type": "null"}}, additionalProperties=False, examples=[{}])
]


class RoleCreation(Shape):
    """A custom role of permissions; `permissionSets` is another name of the same list."""

    name: RoleName
    description: Description | None = None
    permissions: Permissions | None = None
    permission_sets: Permissions | None = None
    enabled: bool | None = None
    kubernetes_permissions: NoKubernetesPermissions | None = None


RoleGiven = Annotated[RoleCreation, either({"permissions": {"type": "array"}}, {"permissionSets": {"type": "array"}})]


class PermittedScopesQuestion(Shape):
    """A type of resource, and one action on it or all."""

    resource_type: ResourceType
    action: Action | None = None


class Scopes(Shape):
    """Where something holds, by kind of scope."""

    system: bool
    tenants: list[str]
    clusters: list[str]
    departments: list[str]
    projects: list[str]


class RuleStatus(Shape):
    """Whether a rule holds."""

    phase: str


class RuleShape(Shape):
    """Who has which role where; `scopePath` where one rule is shown."""

    id: int
    subject_id: str
    subject_type: SubjectType
    role_id: int
    role_name: str
    scope_id: str
    scope_type: str
    scope_name: str
    created_at: str
    updated_at: str
    created_by: str
    tenant_id: int
    status: RuleStatus
    cluster_id: str | UnsetType = UNSET
    scope_path: str | UnsetType = UNSET


class RuleList(Shape):
    """Rules, and how many match."""

    total_records: int
    display_records: int
    access_rules: list[RuleShape]


class OwnRules(Shape):
    """The rules that hold for who asks."""

    access_rules: RuleList


class RuleCreation(Shape):
    """A role for a subject on a scope."""

    subject_id: SubjectId
    subject_type: SubjectType
    role_id: int
    scope_type: ScopeKind
    scope_id: str | int | None = None
    cluster_id: str | None = None


class Failure(Shape):
    """One of a batch that was refused."""

    code: int
    message: str
    id: str | UnsetType = UNSET
    payload: Encoded | UnsetType = UNSET


class BatchAnswer(Shape):
    """Which of a batch were done and which refused."""

    id: str
    succeeded: list[str]
    failed: list[Failure]


class RuleBatch(Shape):
    """Rules to delete, or to try."""

    ids: Annotated[list[str | int], limited(minItems=1, maxItems=MAX_BATCH)]
    action: Literal["delete", "validate_delete"]


class Subject(Shape):
    """Who gets the role."""

    subject_id: SubjectId
    subject_type: SubjectType


class ScopeGiven(Shape):
    """Where."""

    scope_type: ScopeKind
    scope_id: str | int | None = None


class RulePairs(Shape):
    """A role for each of the subjects on each of the scopes."""

    role_id: int
    subjects: Annotated[list[Subject], Meta(min_length=1)]
    scopes: Annotated[list[ScopeGiven], Meta(min_length=1)]
    cluster_id: str | None = None


class RuleBatchCreation(Shape):
    """Several rules of one role."""

    payload: RulePairs


class RuleBatchCreated(Shape):
    """Which were made and which refused."""

    succeeded: list[RuleShape]
    failed: list[Failure]


class AuditShape(Shape, rename=None):
    """One entry of the audit log. What was not asked by HTTP, or not from an address that the schema knows, has no
    `http_method`, `url`, `request_id` or `source_ip`."""

    id: str
    tenant_id: str
    timestamp: str
    subject: str
    subject_type: str
    action: str
    result: str
    entity_type: str
    entity_name: str
    entity_id: str
    metadata: Encoded
    source_ip: str | UnsetType = UNSET
    http_method: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    cluster_id: str | UnsetType = UNSET


class AuditList(Shape, rename=None):
    """Entries; `next` is the offset of the next page. `logs` is Run:ai's, and always null."""

    total: int
    audit_logs: list[AuditShape]
    logs: None
    next: int | UnsetType = UNSET


class OidcData(Shape):
    """How Muster is known to the provider; its secret is never shown."""

    client_id: str
    client_secret: Literal[""]  # required; never shown
    scopes: list[str]
    discover_document_url: str


class IdpMappers(Shape):
    """The claims that are read. `alias` is required by Run:ai's schema and defined nowhere in it."""

    alias: str
    email: str
    groups: str


class IdpShape(Shape):
    """An identity provider."""

    alias: str
    type: Literal["oidc"]
    redirect_uri: str
    oidc_data: OidcData
    mappers: IdpMappers
