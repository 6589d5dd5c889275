"""`/api/…/authorization`: roles (read v1, written v2), permissions, and where somebody may do what."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts import services
from accounts.api import wire
from accounts.api.shapes import PermissionShape, PermittedScopesQuestion, RoleGiven, RoleShape, Scopes
from accounts.models import Role
from accounts.permissions import TENANT, reach, require, rights_of, rules_of
from accounts.requests import actor_of
from accounts.roles import ACTIONS, GROUP_OF, PREDEFINED
from accounts.scopes import TENANT_ID
from core.api.bodies import check_keys
from core.api.ids import number_of
from core.api.matching import check_match, tagged
from core.api.views import ApiView
from core.errors import Conflict, InvalidInput

ROLE_KEYS = ("name", "description", "permissions", "permissionSets", "enabled", "kubernetesPermissions")


class RoleListView(ApiView):
    """All roles, predefined and custom."""

    gives: Mapping[str, Any] = {"get": list[RoleShape]}

    def get(self, request: Request) -> Response:
        """A bare list."""
        require(request.user, "roles:read")
        custom = [wire.role_json(role) for role in Role.objects.order_by("name")]
        return Response([*map(wire.role_json, PREDEFINED), *custom])


class RoleView(ApiView):
    """One role."""

    gives: Mapping[str, Any] = {"get": RoleShape}

    def get(self, request: Request, role_id: str) -> Response:
        """The role."""
        require(request.user, "roles:read")
        shown = wire.role_json(wire.find_role(number_of(role_id)))
        return tagged(shown, shown)


class RoleListV2View(RoleListView):
    """List and create."""

    gives: Mapping[str, Any] = {"get": list[RoleShape], "post": RoleShape}
    takes: Mapping[str, Any] = {"post": RoleGiven}

    def post(self, request: Request) -> Response:
        """Create one of permissions. 201."""
        body = self.body()
        check_keys(body, ROLE_KEYS)

        def create() -> dict[str, Any]:
            return wire.role_json(services.create_role(actor_of(request), **_fields(body)))

        return Response(self.write(create), status=201)


class RoleV2View(RoleView):
    """One role, to be changed if it is a custom one."""

    gives: Mapping[str, Any] = {"get": RoleShape, "put": RoleShape}
    takes: Mapping[str, Any] = {"put": RoleGiven}

    def put(self, request: Request, role_id: str) -> Response:
        """Change it; it holds at once."""
        role, body = _custom(request, role_id), self.body()
        require(request.user, "roles:update", TENANT)
        check_match(request, wire.role_json(role))
        check_keys(body, ROLE_KEYS)

        def update() -> dict[str, Any]:
            return wire.role_json(services.update_role(actor_of(request), role=role, **_fields(body)))

        return Response(self.write(update))

    def delete(self, request: Request, role_id: str) -> Response:
        """Delete it; 409 while a rule gives it. 204."""
        role = _custom(request, role_id)
        require(request.user, "roles:delete", TENANT)
        check_match(request, wire.role_json(role))
        self.write(lambda: services.delete_role(actor_of(request), role=role))
        return Response(status=204)


class PermissionsView(ApiView):
    """What who asks may do anywhere."""

    gives: Mapping[str, Any] = {"get": list[PermissionShape]}

    def get(self, request: Request) -> Response:
        """Actions by resource type."""
        held = {right for rule in rules_of(request.user) for right in rights_of(rule)}
        return Response(wire.permissions_json(held))


class PermittedScopesView(ApiView):
    """Where who asks may do what to a resource type."""

    gives: Mapping[str, Any] = {"post": dict[str, Scopes]}
    takes: Mapping[str, Any] = {"post": PermittedScopesQuestion}
    asks_only = True

    def post(self, request: Request) -> Response:
        """Scopes by action; with `action`, only that one's are filled. Writes nothing."""
        body = self.body()
        check_keys(body, ("resourceType", "action"))
        resource, action = body.get("resourceType"), body.get("action")
        if not isinstance(resource, str) or resource not in GROUP_OF:
            raise InvalidInput.of("resourceType", "There is no such resource type", ", ".join(GROUP_OF))
        if action is not None and action not in ACTIONS:
            raise InvalidInput.of("action", "There is no such action", ", ".join(ACTIONS))
        wanted = ACTIONS if action is None else (action,)
        return Response({each: self._scopes(f"{resource}:{each}", asked=each in wanted) for each in ACTIONS})

    def _scopes(self, right: str, *, asked: bool) -> dict[str, Any]:
        if not asked:
            return {"system": False, "tenants": [], "clusters": [], "departments": [], "projects": []}
        where = reach(self.request.user, right)
        return {
            "system": False,
            "tenants": [TENANT_ID] if where.everywhere else [],
            "clusters": sorted(map(str, where.clusters)),
            "departments": [str(pk) for pk in sorted(where.departments)],
            "projects": [str(pk) for pk in sorted(where.projects)],
        }


def _custom(request: Request, role_id: str) -> Role:
    require(request.user, "roles:read")
    role = wire.find_role(number_of(role_id))
    if not isinstance(role, Role):
        raise Conflict("A predefined role cannot be changed. Make one of your own from its permissions.")
    return role


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("permissions")
    if given is None:
        given = body.get("permissionSets")
    if body.get("kubernetesPermissions") not in (None, {}, {"predefinedRole": None}):
        raise InvalidInput.of("kubernetesPermissions", "Muster gives no rights in the cluster itself", "leave it out")
    return {
        "name": wire.read_text(body, "name", limit=64),
        "description": wire.read_text(body, "description", limit=500) if body.get("description") else "",
        "rights": wire.read_permissions(given),
        "enabled": wire.read_flag(body, "enabled", default=True),
    }
