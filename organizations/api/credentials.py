"""`/api/v1/asset/credentials`: secrets of projects and what is shared with them, in Run:ai's five kinds."""

from collections.abc import Mapping
from typing import Any, TypeVar, get_args
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import ScopedQuerySet, reach, require
from accounts.requests import actor_of
from clusters.models import Cluster
from core.api.bodies import check_keys
from core.api.ids import number_of, uuid_of
from core.api.listing import number_parameters, text_parameters
from core.api.matching import check_match, tagged
from core.api.queries import unused_parameter
from core.api.shapes import ACCEPTED, Accepted
from core.api.views import ApiView
from core.errors import Fault, InvalidInput, NotFound
from organizations import services
from organizations.api import credentials_wire as wire
from organizations.api.credentials_shapes import (
    AnyCredentialList,
    Credential,
    CredentialList,
    Scope,
)
from organizations.models import Department, Project, ProjectSecret, SharedSecret

SCOPES = get_args(Scope)
Row = TypeVar("Row", bound=Model)
USE = (
    unused_parameter("statusInfo", "a credential has no status of its own"),
    unused_parameter("usageInfo", "it is not recorded who uses a credential"),
)
PARAMETERS = (
    *text_parameters("name"),
    OpenApiParameter("scope", OpenApiTypes.STR, enum=list(SCOPES)),
    *number_parameters("projectId", "departmentId"),
    OpenApiParameter("clusterId", OpenApiTypes.UUID),
    *USE,
)
PLACE_KEYS = ("projectId", "departmentId", "clusterId")
META_KEYS = ("name", "scope", *PLACE_KEYS, "autoDelete", "workloadSupportedTypes", "private")


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
    takes: Mapping[str, Any] = {}

    kind: wire.Kind = wire.GENERIC

    def get(self, request: Request) -> Response:
        """`{entries}`."""
        rows = (row for row in matching(request) if wire.kind_of(row) is self.kind)
        return Response({"entries": [wire.credential_json(row) for row in rows]})

    def post(self, request: Request) -> Response:
        """Make one in a project, or for each project of a department, a cluster or the tenant. 202; 409 where the name
        is taken."""
        body = self.body()
        check_keys(body, ("meta", "spec"))
        name, where = read_meta(request, body)
        kind, fields = wire.read_spec(self.kind, name, body)

        def create() -> dict[str, Any]:
            actor = actor_of(request)
            made: wire.Secret
            if isinstance(where, services.Place):
                made = services.share_secret(actor, place=where, kind=kind, name=name, fields=fields)
            else:
                made = services.put_secret(actor, project=where, kind=kind, name=name, fields=fields, is_new=True)
            services.note_credential(made, self.kind.path)
            return wire.credential_json(made)

        return Response(self.write(create), status=202)


class CredentialView(ApiView):
    """One credential."""

    parameters = USE
    gives: Mapping[str, Any] = {"get": Credential, "put": Credential, "delete": Accepted}
    other_successes: Mapping[str, Any] = {"delete": (204,)}
    takes: Mapping[str, Any] = {}

    kind: wire.Kind = wire.GENERIC

    def get(self, request: Request, asset_id: str) -> Response:
        """Its name, place and keys; never a value."""
        shown = wire.credential_json(self._find(request, asset_id))
        return tagged(shown, shown)

    def put(self, request: Request, asset_id: str) -> Response:
        """Rename it (`meta.name`), or overwrite its content (`spec`); its place stays. 202."""
        secret, body = self._find(request, asset_id), self.body()
        require(request.user, "credentials:update", secret.scope)
        check_match(request, wire.credential_json(secret))
        check_keys(body, ("meta", "spec"))
        name = _new_name(body, secret)
        content = wire.read_spec(self.kind, secret.name, body) if body.get("spec") is not None else None
        return Response(self.write(lambda: wire.credential_json(_change(request, secret, name, content))), status=202)

    def delete(self, request: Request, asset_id: str) -> Response:
        """Delete it; its objects leave the clusters. 202 or 204, as Run:ai answers for the kind."""
        secret = self._find(request, asset_id)
        require(request.user, "credentials:delete", secret.scope)
        check_match(request, wire.credential_json(secret))
        self.write(lambda: _delete(request, secret))
        return Response(status=204) if self.kind.deleted == 204 else Response(ACCEPTED, status=202)

    def _find(self, request: Request, asset_id: str) -> wire.Secret:
        model, number = wire.secret_number(asset_id)
        rows = visible_secrets(request) if model is ProjectSecret else visible_shared(request)
        secret = rows.filter(pk=number).first()
        if secret is None or wire.kind_of(secret) is not self.kind:
            raise NotFound
        return secret


def _change(
    request: Request, secret: wire.Secret, name: str, content: tuple[str, Mapping[str, str]] | None
) -> wire.Secret:
    actor = actor_of(request)
    if isinstance(secret, SharedSecret):
        return services.change_shared_secret(actor, secret=secret, name=name, content=content)
    changed = services.rename_secret(actor, secret=secret, name=name)
    if content is None:
        return changed
    kind, fields = content
    credential = wire.kind_of(secret).path
    changed = services.put_secret(actor, project=secret.project, kind=kind, name=changed.name, fields=fields)
    services.note_credential(changed, credential)
    return changed


def _delete(request: Request, secret: wire.Secret) -> None:
    if isinstance(secret, SharedSecret):
        services.delete_shared_secret(actor_of(request), secret=secret)
    else:
        services.delete_secret(actor_of(request), secret=secret)


def visible_secrets(request: Request) -> QuerySet[ProjectSecret]:
    """Secrets of the projects in which the asker may read credentials; not what is shared with them."""
    require(request.user, "credentials:read")
    rows = ProjectSecret.objects.filter(source=None).select_related("project").order_by("name", "pk")
    where = reach(request.user, "credentials:read")
    if where.everywhere:
        return rows
    return rows.filter(
        Q(project__cluster__in=where.clusters)
        | Q(project__department__in=where.departments)
        | Q(project__in=where.projects)
    )


def visible_shared(request: Request) -> QuerySet[SharedSecret]:
    """Secrets that are shared with projects in which the asker may read credentials."""
    require(request.user, "credentials:read")
    return SharedSecret.objects.visible_to(request.user).select_related("department").order_by("name", "pk")


def matching(request: Request) -> list[wire.Secret]:
    """Those that the query asks for."""
    params, own, shared = request.query_params, visible_secrets(request), visible_shared(request)
    if "name" in params:
        own, shared = own.filter(name=params["name"]), shared.filter(name=params["name"])
    if "projectId" in params:
        own, shared = own.filter(project=_number(params, "projectId")), shared.none()
    if "departmentId" in params:
        department = _number(params, "departmentId")
        own, shared = own.filter(project__department=department), shared.filter(department=department)
    if "clusterId" in params:
        cluster = _uuid(params, "clusterId")
        own = own.filter(project__cluster=cluster)
        shared = shared.filter(Q(cluster=cluster) | Q(department__cluster=cluster))
    scope = params.get("scope")
    if scope is not None:
        own, shared = own if scope == "project" else own.none(), shared.filter(place__startswith=scope)
    return [*own, *shared]


def read_meta(request: Request, body: Mapping[str, Any]) -> tuple[str, Project | services.Place]:
    """Name and place of a new credential. Raises `InvalidInput`."""
    meta = body.get("meta")
    if not isinstance(meta, Mapping):
        raise InvalidInput.of("meta", "Required parameter is missing" if meta is None else "It is not an object")
    check_keys(meta, META_KEYS, place="meta")
    name = meta.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput.of("meta.name", "Required parameter is missing", "a string that is not empty")
    for flag in ("private", "autoDelete"):
        if meta.get(flag):
            raise InvalidInput.of(f"meta.{flag}", "A credential is of a whole scope, until it is deleted", "false")
    return name, _place(request, meta)


def _place(request: Request, meta: Mapping[str, Any]) -> Project | services.Place:
    scope = meta.get("scope")
    if scope not in SCOPES:
        raise InvalidInput.of("meta.scope", "There is no such scope", ", ".join(SCOPES))
    _refuse_unused_ids(meta, scope)
    match scope:
        case "project":
            return _named(request, meta, "projectId", Project.objects.all())
        case "department":
            rows = Department.objects.select_related("cluster")
            return services.Place(department=_named(request, meta, "departmentId", rows))
        case "cluster":
            return services.Place(cluster=_named(request, meta, "clusterId", Cluster.objects.all()))
    return services.Place()


def _refuse_unused_ids(meta: Mapping[str, Any], scope: Any) -> None:
    """Who names a department and means it must not share with all, because another scope stands beside it."""
    used = f"{scope}Id"
    allowed = used if used in PLACE_KEYS else "no id"
    unused = [key for key in PLACE_KEYS if key != used and meta.get(key) is not None]
    if unused:
        message = f"A credential of the scope {scope} does not use it"
        raise InvalidInput([Fault(f"meta.{key}", message, allowed) for key in unused])


def _named(request: Request, meta: Mapping[str, Any], key: str, rows: "ScopedQuerySet[Row]") -> Row:
    """The visible row that the field names. Raises `InvalidInput`."""
    given = meta.get(key)
    try:
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise NotFound
        return rows.get_visible(request.user, pk=str(given))
    except NotFound as error:
        kind = key.removesuffix("Id")
        raise InvalidInput.of(f"meta.{key}", f"There is no such {kind}", f"the id of a {kind}") from error


def _new_name(body: Mapping[str, Any], secret: wire.Secret) -> str:
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
