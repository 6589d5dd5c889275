"""`/api/v1/users` and `/api/v1/me/password`."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import services
from accounts.api import wire
from accounts.api.shapes import Nothing, PasswordChange, TempPassword, UserCreated, UserCreation, UserShape
from accounts.models import User
from accounts.permissions import TENANT, require
from accounts.requests import actor_of
from accounts.selectors import find_person, people
from core.api.bodies import check_keys
from core.api.errors import error_body
from core.api.filters import filter_by, search, sort
from core.api.listing import count_parameters, page_parameters, sort_parameters
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.queries import unused_parameter
from core.api.shapes import Count
from core.api.views import ApiView
from core.errors import InvalidInput
from core.filters import Filter
from core.moments import rfc3339

FILTERS = (
    Filter(key="username", label="username", lookup="email"),
    Filter(key="createdBy", label="createdBy", lookup="created_by"),
    Filter(key="lastLogin", label="lastLogin", lookup="last_login", kind="time"),
    Filter(key="creationTime", label="creationTime", lookup="created_at", kind="time"),
    Filter(key="lastUpdated", label="lastUpdated", lookup="updated_at", kind="time"),
    Filter(key="isLocal", label="isLocal", lookup="is_local", kind="flag"),
)
FILTER = unused_parameter("filter", "deprecated by Run:ai in favour of filterBy")
SORTS = {
    "username": "email",
    "createdBy": "created_by",
    "lastLogin": "last_login",
    "creationTime": "created_at",
    "lastUpdated": "updated_at",
    "type": "is_local",
}


def matching(request: Request) -> QuerySet[User]:
    """The people that `filterBy` and `search` ask for."""
    require(request.user, "users:read")
    return search(request, filter_by(request, people(request.user), FILTERS), ("email", "name"))


class UserListView(ApiView):
    """List and create."""

    parameters = (*count_parameters(FILTERS), *sort_parameters(SORTS), *page_parameters(default=500), FILTER)
    gives: Mapping[str, Any] = {"get": list[UserShape], "post": UserCreated}
    takes: Mapping[str, Any] = {"post": UserCreation}

    def get(self, request: Request) -> Response:
        """People, sorted and paged: 500 a page, as a bare list."""
        rows, _next = paginate(request, sort(request, matching(request), SORTS, default="username"), default=500)
        return Response([wire.user_json(row) for row in rows])

    def post(self, request: Request) -> Response:
        """Create a local user; the temporary password is shown this once. 201."""
        body = self.body()
        check_keys(body, ("email", "resetPassword", "notify"))
        email = wire.read_text(body, "email", limit=254)

        def create() -> dict[str, Any]:
            user, password = services.create_user(actor_of(request), email=email)
            shown = {"id": str(user.pk), "username": user.email, "tempPassword": self.shown_once(password)}
            return {**shown, "tempPasswordExpiresAt": rfc3339(user.temporary_until)}

        return Response(self.write(create), status=201)


class UserCountView(ApiView):
    """How many match."""

    parameters = count_parameters(FILTERS)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": matching(request).count()})


class UserView(ApiView):
    """One person."""

    gives: Mapping[str, Any] = {"get": UserShape}

    def get(self, request: Request, user_id: str) -> Response:
        """The person."""
        shown = wire.user_json(find_person(request.user, user_id))
        return tagged(shown, shown)

    def delete(self, request: Request, user_id: str) -> Response:
        """Delete them, their access rules and keys. 204."""
        user = find_person(request.user, user_id)
        require(request.user, "users:delete", TENANT)
        check_match(request, wire.user_json(user))
        self.write(lambda: services.delete_user(actor_of(request), user=user))
        return Response(status=204)


class UserLogoutView(ApiView):
    """Ends everything of a person's."""

    gives: Mapping[str, Any] = {"post": None}
    takes: Mapping[str, Any] = {"post": None}

    def post(self, request: Request, user_id: str) -> Response:
        """Sessions, tokens and streams end now."""
        user = find_person(request.user, user_id)
        self.write(lambda: services.force_logout(actor_of(request), user=user))
        return Response(status=200)


class UserPasswordView(ApiView):
    """A new temporary password."""

    gives: Mapping[str, Any] = {"post": TempPassword}
    takes: Mapping[str, Any] = {"post": None}

    def post(self, request: Request, user_id: str) -> Response:
        """It is shown this once."""
        user = find_person(request.user, user_id)
        password = self.write(lambda: services.reset_password(actor_of(request), user=user))
        until = rfc3339(user.temporary_until)
        return Response({"tempPassword": self.shown_once(password), "tempPasswordExpiresAt": until})


class OwnPasswordView(ApiView):
    """One's own password."""

    gives: Mapping[str, Any] = {"post": Nothing}
    takes: Mapping[str, Any] = {"post": PasswordChange}

    def post(self, request: Request) -> Response:
        """Change it. Run:ai's document has both passwords echoed: Muster sends none back."""
        body = self.body()
        check_keys(body, ("currentPassword", "newPassword"))
        current = wire.read_text(body, "currentPassword", limit=1000)
        new = wire.read_text(body, "newPassword", limit=1000)
        if not services.is_own_password(actor_of(request), current=current):
            wrong = InvalidInput.of("currentPassword", "This is not your current password")
            return Response(error_body(wrong), status=wrong.code)  # not raised: what counts it is kept
        self.write(lambda: services.change_own_password(actor_of(request), current=current, new=new))
        return Response({})
