"""`/api/v1/authorization/access-rules`: who has which role where."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import services
from accounts.api import wire
from accounts.api.shapes import (
    MAX_BATCH,
    BatchAnswer,
    OwnRules,
    RuleBatch,
    RuleBatchCreated,
    RuleBatchCreation,
    RuleCreation,
    RuleList,
    RuleShape,
)
from accounts.audit import record_refusal
from accounts.models import AccessRule, User, UserKind
from accounts.permissions import require, rules_of
from accounts.requests import actor_of
from accounts.scopes import TENANT_ID, Target, find_target, names_of, scope_of, visible_rules
from accounts.selectors import GROUP, find_subject, with_subject
from accounts.services import Group
from core.api.bodies import check_keys
from core.api.filters import filter_by, search, sort
from core.api.ids import number_of, uuid_of
from core.api.listing import SEARCH, count_parameters, list_parameters, page_parameters, text_parameters
from core.api.matching import check_match, tagged
from core.api.pagination import paginate, slice_of
from core.api.queries import unused_parameter
from core.api.shapes import Count, check_shape
from core.api.views import ApiView, is_dry_run
from core.errors import InvalidInput, MusterError, NotFound
from core.filters import Filter, parse_term

FILTERS = (
    Filter(key="subjectId", label="subjectId", lookup="wire_subject"),
    Filter(key="subjectType", label="subjectType", lookup="wire_subject_type"),
    Filter(key="roleId", label="roleId", lookup="wire_role", kind="number"),
    Filter(key="roleName", label="roleName", lookup="role"),
    Filter(key="scopeId", label="scopeId", lookup="scope_id"),
    Filter(key="scopeType", label="scopeType", lookup="scope_type"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="createdBy", label="createdBy", lookup="created_by"),
)
SORTS = {
    "subjectId": "wire_subject",
    "subjectType": "wire_subject_type",
    "roleId": "wire_role",
    "roleName": "role",
    "scopeId": "scope_id",
    "scopeType": "scope_type",
    "createdAt": "created_at",
    "createdBy": "created_by",
}
SEARCHED = ("user__email", "user__name", "group", "role", "scope_type")
SUBJECT_TYPES = (*UserKind.values, "app", GROUP)
KEYS = ("subjectId", "subjectType", "roleId", "scopeId", "scopeType", "clusterId")
MAX_ROLE = 10**9 - 1
EXACT = (
    *text_parameters("subjectType", "subjectIds", "subjectIdFilter", "scopeType", "scopeId"),
    OpenApiParameter("clusterId", OpenApiTypes.UUID),
    OpenApiParameter("lastUpdated", OpenApiTypes.DATETIME),
    OpenApiParameter("roleId", {"type": "integer", "minimum": 0, "maximum": MAX_ROLE}),
    unused_parameter("includeDeleted", "what is deleted is gone"),
)


def matching(request: Request) -> QuerySet[AccessRule]:
    """The visible rules that the query asks for."""
    require(request.user, "access_rules:read")
    query = request.query_params
    rows: Any = with_subject(visible_rules(request.user))  # with fields that the model has not
    exact = {"subjectType": "wire_subject_type", "scopeType": "scope_type", "scopeId": "scope_id"}
    for name, path in exact.items():
        if value := query.get(name, ""):
            rows = rows.filter(**{path: "" if name == "scopeId" and value == TENANT_ID else value})
    if subjects := [part for part in query.get("subjectIds", "").split(",") if part]:
        rows = rows.filter(wire_subject__in=subjects[:MAX_BATCH])
    if part := query.get("subjectIdFilter", ""):
        rows = rows.filter(wire_subject__icontains=part[:200])
    if role := query.get("roleId"):
        rows = rows.filter(wire_role=_whole("roleId", role))
    if cluster := query.get("clusterId"):
        rows = rows.filter(cluster_id=_cluster_id(cluster))
    if since := query.get("lastUpdated"):
        rows = rows.filter(parse_term(f"createdAt>={since}", FILTERS).q)  # a rule is not changed, only made
    return search(request, filter_by(request, rows, FILTERS), SEARCHED)


def answer(rules: list[AccessRule], total: int) -> dict[str, Any]:
    """Schema `AccessRules`."""
    names = names_of(rules)
    shown = [wire.rule_json(rule, names) for rule in rules]
    return {"totalRecords": total, "displayRecords": len(shown), "accessRules": shown}


class AccessRuleListView(ApiView):
    """List and create."""

    parameters = (*list_parameters(FILTERS, SORTS), *EXACT)
    gives: Mapping[str, Any] = {"get": RuleList, "post": RuleShape}
    takes: Mapping[str, Any] = {"post": RuleCreation}

    def get(self, request: Request) -> Response:
        """Rules, sorted and paged."""
        rows = matching(request)
        found, _next = paginate(request, sort(request, rows, SORTS, default="createdAt"))
        return Response(answer(found, rows.count()))

    def post(self, request: Request) -> Response:
        """Give a role. 201."""
        body = self.body()
        check_keys(body, KEYS)
        return Response(self.write(lambda: create(request, body)), status=201)


class AccessRuleCountView(ApiView):
    """How many match."""

    parameters = (*count_parameters(FILTERS), *EXACT)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": matching(request).count()})


class AccessRuleView(ApiView):
    """One rule."""

    gives: Mapping[str, Any] = {"get": RuleShape}

    def get(self, request: Request, rule_id: str) -> Response:
        """The rule, with the path of its scope."""
        shown = shown_rule(find_rule(request, rule_id))
        return tagged(shown, shown)

    def delete(self, request: Request, rule_id: str) -> Response:
        """Take the role away, at once. 204."""
        rule = find_rule(request, rule_id)
        require(request.user, "access_rules:delete", scope_of(rule))
        check_match(request, shown_rule(rule))
        self.write(lambda: services.revoke(actor_of(request), rule=rule))
        return Response(status=204)


class AccessRuleBatchView(ApiView):
    """Several rules at once, each by itself."""

    gives: Mapping[str, Any] = {"post": BatchAnswer}
    takes: Mapping[str, Any] = {"post": RuleBatch}

    def post(self, request: Request) -> Response:
        """Delete, or say whether each could be (`validate_delete`)."""
        body = self.body()
        check_keys(body, ("ids", "action"))
        ids, action = body.get("ids"), body.get("action")
        if action not in ("delete", "validate_delete"):
            raise InvalidInput.of("action", "There is no such action", "delete, validate_delete")
        if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_BATCH:
            raise InvalidInput.of("ids", "This is no list of ids", f"1 to {MAX_BATCH} ids")
        keep, done, failed = action == "validate_delete" or is_dry_run(request), [], []
        for given in ids:
            try:
                _delete_one(request, str(given), keep=keep)
                done.append(str(given))
            except MusterError as error:
                record_refusal(actor_of(request), "delete", error)
                failed.append({"id": str(given), "code": error.code, "message": error.message})
        return Response({"id": str(uuid4()), "succeeded": done, "failed": failed})


class AccessRuleBatchCreateView(ApiView):
    """A role for several subjects on several scopes."""

    gives: Mapping[str, Any] = {"post": RuleBatchCreated}
    takes: Mapping[str, Any] = {"post": RuleBatchCreation}

    def post(self, request: Request) -> Response:
        """Each pair by itself."""
        body = self.body()
        check_keys(body, ("payload",))
        payload = body.get("payload")
        if not isinstance(payload, dict):
            raise InvalidInput.of("payload", "Required parameter is missing", "{roleId, subjects, scopes}")
        check_keys(payload, ("roleId", "clusterId", "subjects", "scopes"), place="payload")
        found = _pairs(payload)
        check_shape(body, RuleBatchCreation)
        shared = {key: payload[key] for key in ("roleId", "clusterId") if key in payload}
        pairs = [{**subject, **scope, **shared} for subject, scope in found]
        keep, done, failed = is_dry_run(request), [], []
        for pair in pairs:
            try:
                with transaction.atomic():
                    done.append(create(request, pair))
                    transaction.set_rollback(keep)
            except MusterError as error:
                record_refusal(actor_of(request), "create", error)
                failed.append({"payload": pair, "code": error.code, "message": error.message})
        return Response({"succeeded": done, "failed": failed})


class OwnAccessRulesView(ApiView):
    """The rules that hold for who asks."""

    parameters = (SEARCH, *page_parameters())
    gives: Mapping[str, Any] = {"get": OwnRules}

    def get(self, request: Request) -> Response:
        """Those of groups included, paged."""
        found, total = _own(request)
        limit, offset = slice_of(request)
        return Response({"accessRules": answer(found[offset : offset + limit], total)})


class OwnAccessRulesCountView(ApiView):
    """How many hold for who asks."""

    parameters = (SEARCH,)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": _own(request)[1]})


def create(request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
    """Give one role as `AccessRuleCreationFields` says. Raises `InvalidInput`, `NotPermitted`."""
    kind = body.get("subjectType")
    if kind not in SUBJECT_TYPES:
        raise InvalidInput.of("subjectType", "There is no such type of subject", ", ".join(SUBJECT_TYPES))
    require(request.user, "access_rules:create")
    name = wire.read_text(body, "subjectId")
    scope_id = body.get("scopeId")
    target = find_target(request.user, str(body.get("scopeType")), str(scope_id) if scope_id is not None else "")
    _check_cluster(body.get("clusterId"), target)
    try:
        role = wire.find_role(body.get("roleId"))
    except NotFound as error:
        raise InvalidInput.of("roleId", "There is no such role", "an id of GET /api/v1/authorization/roles") from error
    subject = Group(name) if kind == GROUP else _subject(kind, name)
    rule = services.grant(actor_of(request), subject=subject, role=role.name, target=target)
    return wire.rule_json(rule, {(target.scope_type.value, target.scope_id): target.name})


def _check_cluster(given: Any, target: Target) -> None:
    """A rule may say in which cluster its scope lies, and may not contradict it."""
    cluster = target.scope.cluster_id
    if given is not None and given != (cluster and str(cluster)):
        allowed = str(cluster) if cluster else "none: the scope is of no cluster"
        raise InvalidInput.of("clusterId", "The scope is not in this cluster", allowed)


def shown_rule(rule: AccessRule) -> dict[str, Any]:
    """One rule, with the path of its scope."""
    names = names_of([rule])
    return {**wire.rule_json(rule, names), "scopePath": names.get((rule.scope_type, rule.scope_id), "")}


def find_rule(request: Request, rule_id: str) -> AccessRule:
    """The visible rule of this id. Raises `NotPermitted` without the right anywhere, `NotFound`."""
    require(request.user, "access_rules:read")
    rule = visible_rules(request.user).filter(pk=number_of(rule_id)).first()
    if rule is None:
        raise NotFound
    return rule


def _subject(kind: str, name: str) -> User:
    found = find_subject(UserKind.PERSON if kind == UserKind.PERSON else UserKind.SERVICE_ACCOUNT, name)
    if found is None:
        raise InvalidInput.of("subjectId", f"There is no such {kind}", "an e-mail address, or a service account's name")
    return found


def _delete_one(request: Request, rule_id: str, *, keep: bool) -> None:
    with transaction.atomic():
        services.revoke(actor_of(request), rule=find_rule(request, rule_id))
        transaction.set_rollback(keep)


def _pairs(payload: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    parts = []
    for name, keys in (("subjects", ("subjectId", "subjectType")), ("scopes", ("scopeId", "scopeType"))):
        items = payload.get(name)
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            raise InvalidInput.of(f"payload.{name}", "This is no list", f"a list of {{{', '.join(keys)}}}")
        for i, item in enumerate(items):
            check_keys(item, keys, place=f"payload.{name}[{i}]")
        parts.append(items)
    if len(parts[0]) * len(parts[1]) > MAX_BATCH:
        raise InvalidInput.of("payload", "These are too many rules at once", f"up to {MAX_BATCH}")
    return [(subject, scope) for subject in parts[0] for scope in parts[1]]


def _own(request: Request) -> tuple[list[AccessRule], int]:
    words = request.query_params.get("search", "").lower().split()
    rules = [
        rule for rule in rules_of(request.user) if all(w in f"{rule.role} {rule.scope_type}".lower() for w in words)
    ]
    for rule in rules:
        if rule.user_id and isinstance(request.user, User):
            rule.user = request.user
    return rules, len(rules)


def _cluster_id(text: str) -> UUID:
    try:
        return uuid_of(text)
    except NotFound as error:
        raise InvalidInput.of("clusterId", f"{text[:40]!r} is not an id", "the id of a cluster") from error


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ROLE))):
        raise InvalidInput.of(name, f"{text[:20]!r} is not a whole number", "an id")
    return int(text)
