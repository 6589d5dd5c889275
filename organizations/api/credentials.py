"""`/api/v1/asset/credentials`: secrets of projects in Run:ai's five kinds."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import reach, require
from accounts.requests import actor_of
from core.api.bodies import check_keys
from core.api.ids import number_of, uuid_of
from core.api.listing import choice_parameter, number_parameters, text_parameters
from core.api.matching import check_match, tagged
from core.api.queries import unused_parameter
from core.api.shapes import ACCEPTED, Accepted
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from organizations import services
from organizations.api import credentials_wire as wire
from organizations.api.credentials_shapes import (
    AnyCredentialList,
    Credential,
    CredentialChange,
    CredentialCreation,
    CredentialList,
)
from organizations.models import Project, ProjectSecret

# Of a credential in Run:ai; here each belongs to a project.
SCOPES = ("project", "tenant", "cluster", "department")
USE = (
    unused_parameter("statusInfo", "a credential has no status of its own"),
    unused_parameter("usageInfo", "it is not recorded who uses a credential"),
)
PARAMETERS = (
    *text_parameters("name"),
    choice_parameter("scope", SCOPES),
    *number_parameters("projectId", "departmentId"),
    OpenApiParameter("clusterId", OpenApiTypes.UUID),
    *USE,
)
META_KEYS = (
    "name", "scope", "projectId", "departmentId", "clusterId", "autoDelete", "workloadSupportedTypes", "private",
)  # fmt: skip


class AllCredentialsView(ApiView):
    """Credentials of every kind."""

    parameters = PARAMETERS
    gives: Mapping[str, Any] = {"get": AnyCredentialList}

    def get(self, request: Request) -> Response:
        """`{entries}`. By `name`, `scope`, `projectId`, `departmentId`, `clusterId`."""
        return Response({"entries": [wire.entry_json(row) for row in matching(request)]})


class CredentialListView(ApiView):
    """Credentials of one kind."""

    parameters = PARAMETERS
    gives: Mapping[str, Any] = {"get": CredentialList, "post": Credential}
    takes: Mapping[str, Any] = {"post": CredentialCreation}

    kind: wire.Kind = wire.GENERIC

    def get(self, request: Request) -> Response:
        """`{entries}`."""
        rows = (row for row in matching(request) if wire.kind_of(row) is self.kind)
        return Response({"entries": [wire.credential_json(row) for row in rows]})

    def post(self, request: Request) -> Response:
        """Make one in a project. 202; 409 where the name is taken."""
        body = self.body()
        check_keys(body, ("meta", "spec"))
        name, project = read_meta(request, body)
        kind, fields = wire.read_spec(self.kind, name, body)

        def create() -> dict[str, Any]:
            actor = actor_of(request)
            made = services.put_secret(actor, project=project, kind=kind, name=name, fields=fields, is_new=True)
            return wire.credential_json(made)

        return Response(self.write(create), status=202)


class CredentialView(ApiView):
    """One credential."""

    parameters = USE
    gives: Mapping[str, Any] = {"get": Credential, "put": Credential, "delete": Accepted}
    other_successes: Mapping[str, Any] = {"delete": (204,)}
    takes: Mapping[str, Any] = {"put": CredentialChange}

    kind: wire.Kind = wire.GENERIC

    def get(self, request: Request, asset_id: str) -> Response:
        """Its name, place and keys; never a value."""
        shown = wire.credential_json(self._find(request, asset_id))
        return tagged(shown, shown)

    def put(self, request: Request, asset_id: str) -> Response:
        """Rename it (`meta.name`), or overwrite its content (`spec`); the project stays. 202."""
        secret, body = self._find(request, asset_id), self.body()
        require(request.user, "credentials:update", secret.project.scope)
        check_match(request, wire.credential_json(secret))
        check_keys(body, ("meta", "spec"))
        name = _new_name(body, secret)
        content = wire.read_spec(self.kind, secret.name, body) if body.get("spec") is not None else None

        def update() -> dict[str, Any]:
            actor = actor_of(request)
            changed = services.rename_secret(actor, secret=secret, name=name)
            if content is not None:
                kind, fields = content
                changed = services.put_secret(
                    actor, project=secret.project, kind=kind, name=changed.name, fields=fields
                )
            return wire.credential_json(changed)

        return Response(self.write(update), status=202)

    def delete(self, request: Request, asset_id: str) -> Response:
        """Delete it; its objects leave the cluster. 202 or 204, as Run:ai answers for the kind."""
        secret = self._find(request, asset_id)
        require(request.user, "credentials:delete", secret.project.scope)
        check_match(request, wire.credential_json(secret))
        self.write(lambda: services.delete_secret(actor_of(request), secret=secret))
        return Response(status=204) if self.kind.deleted == 204 else Response(ACCEPTED, status=202)

    def _find(self, request: Request, asset_id: str) -> ProjectSecret:
        number = wire.secret_number(asset_id)
        secret = visible_secrets(request).filter(pk=number).first()
        if secret is None or wire.kind_of(secret) is not self.kind:
            raise NotFound
        return secret


def visible_secrets(request: Request) -> QuerySet[ProjectSecret]:
    """Secrets of the projects in which the asker may read credentials."""
    require(request.user, "credentials:read")
    rows = ProjectSecret.objects.select_related("project").order_by("name", "pk")
    where = reach(request.user, "credentials:read")
    if where.everywhere:
        return rows
    return rows.filter(
        Q(project__cluster__in=where.clusters)
        | Q(project__department__in=where.departments)
        | Q(project__in=where.projects)
    )


def matching(request: Request) -> QuerySet[ProjectSecret]:
    """Those that the query asks for."""
    params, rows = request.query_params, visible_secrets(request)
    paths = {"name": "name", "projectId": "project__id", "departmentId": "project__department_id"}
    for key, path in paths.items():
        if key in params:
            rows = rows.filter(**{path: params[key] if key == "name" else _number(params, key)})
    if "clusterId" in params:
        rows = rows.filter(project__cluster_id=_uuid(params, "clusterId"))
    scope = params.get("scope", SCOPES[0])
    if scope not in SCOPES:
        raise InvalidInput.of("scope", "There is no such scope", ", ".join(SCOPES))
    return rows if scope == SCOPES[0] else rows.none()


def read_meta(request: Request, body: Mapping[str, Any]) -> tuple[str, Project]:
    """Name and project of a new credential. Raises `InvalidInput`."""
    meta = body.get("meta")
    if not isinstance(meta, Mapping):
        raise InvalidInput.of("meta", "Required parameter is missing" if meta is None else "It is not an object")
    check_keys(meta, META_KEYS, place="meta")
    name = meta.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput.of("meta.name", "Required parameter is missing", "a string that is not empty")
    if meta.get("scope") != "project":
        raise InvalidInput.of("meta.scope", "Credentials belong to a project here", "project")
    try:
        project = Project.objects.get_visible(request.user, pk=number_of(str(meta.get("projectId"))))
    except NotFound as error:
        raise InvalidInput.of("meta.projectId", "There is no such project", "the id of a project") from error
    return name, project


def _new_name(body: Mapping[str, Any], secret: ProjectSecret) -> str:
    """The name that a change gives it, else the one that it has."""
    meta = body.get("meta")
    if meta is None:
        return secret.name
    if not isinstance(meta, Mapping):
        raise InvalidInput.of("meta", "It is not an object", "{name}")
    check_keys(meta, ("name",), place="meta")
    name = meta.get("name", secret.name)
    if not isinstance(name, str):
        raise InvalidInput.of("meta.name", "It is not a string", "a name")
    return name


def _number(params: Mapping[str, str], key: str) -> int:
    try:
        return number_of(params[key])
    except NotFound as error:
        raise InvalidInput.of(key, "This is not an id", "a number") from error


def _uuid(params: Mapping[str, str], key: str) -> UUID:
    try:
        return uuid_of(params[key])
    except NotFound as error:
        raise InvalidInput.of(key, "This is not an id", "a UUID") from error
