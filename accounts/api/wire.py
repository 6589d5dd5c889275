"""Run:ai's JSON of users, service accounts, keys, roles and access rules (`runai-openapi.json`), both ways."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from accounts.models import AccessKey, AccessRule, Role, User, UserKind
from accounts.roles import ACTIONS, BY_NAME, CUSTOM_ROLES_FROM, GROUP_OF, PREDEFINED, RIGHTS, PredefinedRole
from accounts.scopes import TENANT_ID
from accounts.selectors import GROUP
from core.errors import InvalidInput, NotFound
from core.moments import rfc3339
from core.times import read_moment


def user_json(user: User) -> dict[str, Any]:
    """Schema `User`."""
    return {
        "id": str(user.pk),
        "username": user.email,
        "createdBy": user.created_by,
        "createdAt": rfc3339(user.created_at, "microseconds"),
        "updatedAt": rfc3339(user.updated_at, "microseconds"),
        "lastLogin": rfc3339(user.last_login, "microseconds"),
        "isLocal": user.is_local,
        "groups": user.groups,
    }


def service_account_json(account: User) -> dict[str, Any]:
    """Schema `ServiceAccount`; `access_keys` must be prefetched for lists."""
    keys = [key for key in account.access_keys.all() if key.revoked_at is None]
    return {
        "id": str(account.pk),
        "name": account.name,
        "clientId": keys[0].client_id if keys else "",
        "enabled": account.is_active,
        "tenantId": TENANT_ID,
        "createdBy": account.created_by,
        "createdAt": rfc3339(account.created_at, "microseconds"),
        "updatedAt": rfc3339(account.updated_at, "microseconds"),
        "lastLogin": rfc3339(account.last_login, "microseconds"),
    }


def access_key_json(key: AccessKey, *, owned: bool = False) -> dict[str, Any]:
    """Schema `AccessKey`, with its owner (`owned`) `AccessKeyAdministration`. Never a secret."""
    document = {
        "id": str(key.pk),
        "name": key.name,
        "clientId": key.client_id,
        "createdAt": rfc3339(key.created_at, "microseconds"),
        "lastLogin": rfc3339(key.last_used_at, "microseconds"),
    }
    return {**document, "createdBy": key.user.email} if owned else document


def role_json(role: Role | PredefinedRole) -> dict[str, Any]:
    """Schema `RoleV1`."""
    custom = isinstance(role, Role)
    made = rfc3339(role.created_at, "microseconds") if isinstance(role, Role) else "1970-01-01T00:00:00Z"
    return {
        "id": role_number(role),
        "name": role.name,
        "description": str(role.description),
        "permissions": permissions_json(role.rights),
        "custom": custom,
        "enabled": role.enabled if isinstance(role, Role) else True,
        "effectiveEnabled": role.enabled if isinstance(role, Role) else True,
        "createdAt": made,
        "updatedAt": rfc3339(role.updated_at, "microseconds") if isinstance(role, Role) else made,
        "createdBy": role.created_by if isinstance(role, Role) else "Muster",
    }


def role_number(role: Role | PredefinedRole) -> int:
    """A role's id on the wire."""
    return CUSTOM_ROLES_FROM + role.pk if isinstance(role, Role) else role.number


def permissions_json(rights: Iterable[str]) -> list[dict[str, Any]]:
    """Schema `Permissions`: actions by resource type, in Run:ai's order."""
    held = set(rights)
    found = []
    for resource, group in GROUP_OF.items():
        actions = [action for action in ACTIONS if f"{resource}:{action}" in held]
        if actions:
            found.append(
                {"resourceType": resource, "displayName": shown(resource), "groupId": group, "actions": actions}
            )
    return found


def shown(resource: str) -> str:
    """A resource type in words: `network-topologies` is "Network topologies"."""
    return resource.replace("-", " ").replace("_", " ").capitalize()


def read_permissions(value: Any) -> frozenset[str]:
    """The rights of a `permissions` list. Raises `InvalidInput` that names the item."""
    if not isinstance(value, list):
        raise InvalidInput.of("permissions", "This is not a list", "a list of {resourceType, actions}")
    rights: set[str] = set()
    for i, item in enumerate(value):
        actions = item.get("actions") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(actions, list):
            raise InvalidInput.of(f"permissions[{i}]", "This is no permission", "{resourceType, actions}")
        for action in actions:
            right = f"{item.get('resourceType')}:{action}"
            if right not in RIGHTS:
                raise InvalidInput.of(f"permissions[{i}]", f"There is no right {right[:80]!r}", "resourceType, actions")
            rights.add(right)
    return frozenset(rights)


def rule_json(rule: AccessRule, names: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Schema `AccessRule`. `names` are those of the scopes (`scopes.names_of`)."""
    document: dict[str, Any] = {
        "id": rule.pk,
        "subjectId": subject_id(rule),
        "subjectType": subject_type(rule),
        "roleId": role_id_of(rule),
        "roleName": rule.role,
        "scopeId": rule.scope_id or TENANT_ID,
        "scopeType": rule.scope_type,
        "scopeName": names.get((rule.scope_type, rule.scope_id), ""),
        "createdAt": rfc3339(rule.created_at, "microseconds"),
        "updatedAt": rfc3339(rule.created_at, "microseconds"),
        "createdBy": rule.created_by,
        "tenantId": int(TENANT_ID),
        "status": {"phase": "Ready"},
    }
    return {**document, "clusterId": str(rule.cluster_id)} if rule.cluster_id else document


def subject_id(rule: AccessRule) -> str:
    """A person's e-mail, a service account's name, a group's name."""
    if rule.user is None:
        return rule.group
    return rule.user.name if rule.user.kind == UserKind.SERVICE_ACCOUNT else rule.user.email


def subject_type(rule: AccessRule) -> str:
    """`user`, `service-account` or `group`."""
    return rule.user.kind if rule.user else GROUP


def role_id_of(rule: AccessRule) -> int:
    """The id of a rule's role; 0 where the role is gone."""
    if rule.custom_role is not None:
        return role_number(rule.custom_role)
    return BY_NAME[rule.role].number if rule.role in BY_NAME else 0


def find_role(value: Any) -> Role | PredefinedRole:
    """The role of this id. Raises `NotFound`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotFound
    for role in PREDEFINED:
        if role.number == value:
            return role
    found = Role.objects.filter(pk=value - CUSTOM_ROLES_FROM).first() if value < 2**31 else None
    if found is None:
        raise NotFound
    return found


def read_text(body: Mapping[str, Any], name: str, *, limit: int = 300) -> str:
    """A string that must be there. Raises `InvalidInput`."""
    value = body.get(name)
    if not isinstance(value, str) or not value or len(value) > limit:
        raise InvalidInput.of(name, "Required parameter is missing", f"a string of 1 to {limit} characters")
    return value


def read_flag(body: Mapping[str, Any], name: str, *, default: bool | None = None) -> bool:
    """true or false; without a `default` it must be there. Raises `InvalidInput`."""
    value = body.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, bool):
        raise InvalidInput.of(name, "This is not a flag", "true, false")
    return value


def read_time(body: Mapping[str, Any], name: str) -> datetime | None:
    """A moment in RFC 3339 with its zone, or None where there is none. Raises `InvalidInput`."""
    value = body.get(name)
    if value is None:
        return None
    found = read_moment(value, zoned=True)
    if found is None:
        raise InvalidInput.of(name, "This is not a time", "2026-11-29T14:00:00Z")
    return found
