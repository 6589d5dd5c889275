"""`/api/v1/service-accounts` and `/api/v1/access-keys`, under the names that Run:ai had for them before too."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts import services
from accounts.api import wire
from accounts.api.shapes import (
    AccessKeyCreated,
    AccessKeyCreation,
    AccessKeyList,
    AccessKeyShape,
    Enabled,
    Named,
    SecretShown,
    ServiceAccountCreated,
    ServiceAccountShape,
)
from accounts.permissions import TENANT, require
from accounts.requests import actor_of
from accounts.selectors import any_keys, find_any_key, find_own_key, find_service_account, own_keys, service_accounts
from core.api.bodies import check_keys
from core.api.listing import text_parameters
from core.api.matching import check_match, tagged
from core.api.views import ApiView


class ServiceAccountListView(ApiView):
    """List and create. `secret_name` is what the answer calls the secret."""

    gives: Mapping[str, Any] = {"get": list[ServiceAccountShape], "post": ServiceAccountCreated}
    takes: Mapping[str, Any] = {"post": Named}

    secret_name = "clientSecret"  # noqa: S105 (the name of a field)

    def get(self, request: Request) -> Response:
        """All service accounts, as a bare list."""
        require(request.user, "service-account:read")
        return Response([wire.service_account_json(row) for row in service_accounts(request.user).order_by("name")])

    def post(self, request: Request) -> Response:
        """Create one; its secret is shown this once. 201."""
        body = self.body()
        check_keys(body, ("name",))
        name = wire.read_text(body, "name")

        def create() -> dict[str, Any]:
            account, key, secret = services.create_service_account(actor_of(request), name=name)
            return {
                "id": str(account.pk),
                "name": name,
                "clientId": key.client_id,
                self.secret_name: self.shown_once(secret),
            }

        return Response(self.write(create), status=201)


class ServiceAccountView(ApiView):
    """One service account."""

    gives: Mapping[str, Any] = {"get": ServiceAccountShape, "patch": None}
    takes: Mapping[str, Any] = {"patch": Enabled}

    def get(self, request: Request, account_id: str) -> Response:
        """The account."""
        shown = wire.service_account_json(find_service_account(request.user, account_id))
        return tagged(shown, shown)

    def patch(self, request: Request, account_id: str) -> Response:
        """Switch it on or off."""
        account, body = find_service_account(request.user, account_id), self.body()
        require(request.user, "service-account:update", TENANT)
        check_match(request, wire.service_account_json(account))
        check_keys(body, ("enabled",))
        enabled = wire.read_flag(body, "enabled")
        self.write(lambda: services.set_service_account_enabled(actor_of(request), account=account, enabled=enabled))
        return Response(status=200)

    def delete(self, request: Request, account_id: str) -> Response:
        """Delete it with its access rules. 204."""
        account = find_service_account(request.user, account_id)
        require(request.user, "service-account:delete", TENANT)
        check_match(request, wire.service_account_json(account))
        self.write(lambda: services.delete_service_account(actor_of(request), account=account))
        return Response(status=204)


class ServiceAccountSecretView(ApiView):
    """A new secret."""

    gives: Mapping[str, Any] = {"post": SecretShown}
    takes: Mapping[str, Any] = {"post": None}

    secret_name = "clientSecret"  # noqa: S105 (the name of a field)

    def post(self, request: Request, account_id: str) -> Response:
        """It is shown this once; the old one ends."""
        account = find_service_account(request.user, account_id)
        secret = self.write(lambda: services.renew_service_account_secret(actor_of(request), account=account))
        return Response({self.secret_name: self.shown_once(secret)})


class AccessKeyListView(ApiView):
    """One's own keys."""

    gives: Mapping[str, Any] = {"get": AccessKeyList | list[AccessKeyShape], "post": AccessKeyCreated}
    takes: Mapping[str, Any] = {"post": AccessKeyCreation}

    secret_name = "clientSecret"  # noqa: S105 (the name of a field)
    wrapped = True

    def get(self, request: Request) -> Response:
        """All of them."""
        rows = [wire.access_key_json(key) for key in own_keys(request.user).order_by("name")]
        return Response({"accessKeys": rows} if self.wrapped else rows)

    def post(self, request: Request) -> Response:
        """Create one; its secret is shown this once. `expiresAt` is Muster's. 201."""
        body = self.body()
        check_keys(body, ("name", "expiresAt"))
        name, expires_at = wire.read_text(body, "name"), wire.read_time(body, "expiresAt")

        def create() -> dict[str, Any]:
            key, secret = services.create_access_key(actor_of(request), name=name, expires_at=expires_at)
            shown = wire.access_key_json(key)
            shown.pop("lastLogin")
            return {**shown, self.secret_name: self.shown_once(secret)}

        return Response(self.write(create), status=201)


class AccessKeyView(ApiView):
    """One of one's own keys."""

    gives: Mapping[str, Any] = {"get": AccessKeyShape}

    def get(self, request: Request, key_id: str) -> Response:
        """The key, without its secret."""
        shown = wire.access_key_json(find_own_key(request.user, key_id))
        return tagged(shown, shown)

    def delete(self, request: Request, key_id: str) -> Response:
        """Revoke it and its tokens. 204."""
        key = find_own_key(request.user, key_id)
        check_match(request, wire.access_key_json(key))
        self.write(lambda: services.revoke_access_key(actor_of(request), key=key))
        return Response(status=204)


class AccessKeySecretView(ApiView):
    """A new secret for one of one's own keys."""

    gives: Mapping[str, Any] = {"post": SecretShown}
    takes: Mapping[str, Any] = {"post": None}

    def post(self, request: Request, key_id: str) -> Response:
        """It is shown this once; the old one ends."""
        key = find_own_key(request.user, key_id)
        secret = self.write(lambda: services.renew_access_key_secret(actor_of(request), key=key))
        return Response({"clientSecret": self.shown_once(secret)})


class AllAccessKeysView(ApiView):
    """Everybody's keys, for administrators."""

    parameters = text_parameters("clientId", "createdBy")
    gives: Mapping[str, Any] = {"get": AccessKeyList | list[AccessKeyShape]}

    wrapped = True

    def get(self, request: Request) -> Response:
        """`clientId` and `createdBy` narrow it."""
        rows = any_keys(request.user).order_by("user__email", "name")
        if client_id := request.query_params.get("clientId"):
            rows = rows.filter(client_id=client_id[:64])
        if owner := request.query_params.get("createdBy"):
            rows = rows.filter(user__email=owner[:254].lower())
        found = [wire.access_key_json(key, owned=True) for key in rows]
        return Response({"accessKeys": found} if self.wrapped else found)


class AnyAccessKeyView(ApiView):
    """Anybody's key."""

    def delete(self, request: Request, key_id: str) -> Response:
        """Revoke it and its tokens. 204."""
        key = find_any_key(request.user, key_id)
        if key.user_id != request.user.pk:
            require(request.user, "access-keys:delete", TENANT)
        check_match(request, wire.access_key_json(key))
        self.write(lambda: services.revoke_access_key(actor_of(request), key=key))
        return Response(status=204)
