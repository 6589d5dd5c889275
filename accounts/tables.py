"""The lists of Administration: columns, filters, sort."""

from operator import attrgetter

from django.utils.translation import gettext_lazy as _

from accounts import audit_wire
from accounts.models import Outcome, ScopeType, UserKind
from core.filters import Filter
from core.tables import Column, TableSpec

YES_NO = (("true", _("yes")), ("false", _("no")))
SUBJECT_TYPES = (*UserKind.choices, ("group", _("group")))
ACTIONS = (
    ("create", _("create")),
    ("update", _("update")),
    ("delete", _("delete")),
    ("suspend", _("suspend")),
    ("resume", _("resume")),
    ("download", _("download")),
    ("sign-in", _("sign in")),
    ("sign-out", _("sign out")),
    ("reset-password", _("reset password")),
)
SOURCES = (("page", _("page")), ("api", "API"), ("command", _("command")), ("reconcile", _("reconcile")))

RULES = TableSpec(
    name="access-rules",
    row_template="accounts/rule_list.html#row",
    empty_template="accounts/rule_list.html#empty",
    columns=(
        Column(key="subject", label=_("Who"), sort=("wire_subject",), csv=lambda row: row.subject),
        Column(key="kind", label=_("Kind"), sort=("wire_subject_type",), csv=lambda row: row.kind),
        Column(key="role", label=_("Role"), sort=("role",), csv=lambda row: row.rule.role),
        Column(key="scope", label=_("Scope"), sort=("scope_type", "scope_id"), csv=lambda row: row.scope, grow=True),
        Column(key="by", label=_("Given by"), sort=("created_by",), spare=True, csv=lambda row: row.rule.created_by),
        Column(key="at", label=_("Since"), sort=("created_at",), csv=lambda row: row.rule.created_at),
        Column(key="acts", label=""),
    ),
    default_sort="subject",
    search=("user__email", "user__name", "group", "role"),
    search_label=_("Name, role"),
    filters=(
        Filter(key="subject", label=_("Who"), lookup="wire_subject"),
        Filter(key="kind", label=_("Kind"), lookup="wire_subject_type", kind="choice", choices=SUBJECT_TYPES),
        Filter(key="role", label=_("Role")),
        Filter(
            key="scope", label=_("Kind of scope"), lookup="scope_type", kind="choice", choices=tuple(ScopeType.choices)
        ),
        Filter(key="at", label=_("Since"), lookup="created_at", kind="time"),
    ),
)

USERS = TableSpec(
    name="users",
    row_template="accounts/user_list.html#row",
    topics=("accounts.User",),
    empty_template="accounts/user_list.html#empty",
    columns=(
        Column(key="email", label=_("E-mail"), sort=("email",)),
        Column(key="name", label=_("Name"), sort=("name", "email"), grow=True),
        Column(key="state", label=_("State"), sort=("is_active", "email"), csv=attrgetter("is_active")),
        Column(key="local", label=_("Signs in by"), sort=("is_local", "email"), csv=attrgetter("is_local")),
        Column(key="last", label=_("Last sign-in"), sort=("last_login",), csv=attrgetter("last_login")),
        Column(key="by", label=_("Made by"), sort=("created_by",), spare=True, csv=attrgetter("created_by")),
    ),
    default_sort="email",
    search=("email", "name"),
    search_label=_("E-mail, name"),
    filters=(
        Filter(key="email", label=_("E-mail")),
        Filter(key="active", label=_("Enabled"), lookup="is_active", kind="flag", choices=YES_NO),
        Filter(key="local", label=_("Local"), lookup="is_local", kind="flag", choices=YES_NO),
        Filter(key="last", label=_("Last sign-in"), lookup="last_login", kind="time"),
    ),
)

SERVICE_ACCOUNTS = TableSpec(
    name="service-accounts",
    row_template="accounts/service_account_list.html#row",
    topics=("accounts.User",),
    empty_template="accounts/service_account_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",)),
        Column(key="state", label=_("State"), sort=("is_active", "name"), csv=attrgetter("is_active")),
        Column(key="last", label=_("Last token"), sort=("last_login",), csv=attrgetter("last_login")),
        Column(key="by", label=_("Made by"), sort=("created_by",), csv=attrgetter("created_by"), grow=True),
        Column(key="at", label=_("Made"), sort=("created_at",), csv=attrgetter("created_at")),
    ),
    default_sort="name",
    search=("name", "created_by"),
    search_label=_("Name"),
    filters=(
        Filter(key="name", label=_("Name")),
        Filter(key="active", label=_("Enabled"), lookup="is_active", kind="flag", choices=YES_NO),
        Filter(key="last", label=_("Last token"), lookup="last_login", kind="time"),
    ),
)

KEYS = TableSpec(
    name="access-keys",
    row_template="accounts/key_list.html#row",
    empty_template="accounts/key_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",)),
        Column(key="client", label=_("Client id"), sort=("client_id",), csv=attrgetter("client_id"), grow=True),
        Column(key="prefix", label=_("Secret begins with"), csv=attrgetter("prefix")),
        Column(key="owner", label=_("Owner"), sort=("user__email",), csv=attrgetter("user.email")),
        Column(key="last", label=_("Last use"), sort=("last_used_at",), csv=attrgetter("last_used_at")),
        Column(key="expires", label=_("Ends"), sort=("expires_at",), csv=attrgetter("expires_at")),
        Column(key="acts", label=""),
    ),
    default_sort="name",
    search=("name", "client_id", "user__email"),
    search_label=_("Name, client id, owner"),
    filters=(
        Filter(key="name", label=_("Name")),
        Filter(key="owner", label=_("Owner"), lookup="user__email"),
        Filter(key="last", label=_("Last use"), lookup="last_used_at", kind="time"),
        Filter(key="expires", label=_("Ends"), lookup="expires_at", kind="time"),
    ),
)

AUDIT = TableSpec(
    name="audit-log",
    row_template="accounts/audit_list.html#row",
    empty_template="accounts/audit_list.html#empty",
    columns=(
        Column(key="at", label=_("When"), sort=("at",), csv=attrgetter("at")),
        Column(key="subject", label=_("Who"), sort=("subject",)),
        Column(key="action", label=_("Act"), sort=("action",)),
        Column(key="object", label=_("Object"), sort=("object_type", "object_name"), csv=lambda row: row.object_name),
        Column(key="kind", label=_("Kind"), sort=("object_type",), csv=audit_wire.kind_of, spare=True),
        Column(key="outcome", label=_("Outcome"), sort=("outcome",), csv=attrgetter("outcome")),
        Column(key="changes", label=_("Change"), csv=audit_wire.changes_text, grow=True),
        Column(key="source", label=_("By way of"), sort=("source",), csv=attrgetter("source"), spare=True),
        Column(key="address", label=_("Address"), sort=("address",), csv=attrgetter("address")),
        Column(key="request", label=_("Request"), csv=attrgetter("request_id"), spare=True),
    ),
    default_sort="-at",
    search=("subject", "object_name", "object_id", "request_id", "address"),
    search_label=_("Who, object, address, request id"),
    filters=(
        Filter(key="at", label=_("When"), kind="time"),
        Filter(key="subject", label=_("Who")),
        Filter(key="action", label=_("Act"), kind="choice", choices=ACTIONS),
        Filter(key="outcome", label=_("Outcome"), kind="choice", choices=tuple(Outcome.choices)),
        Filter(key="object", label=_("Object"), lookup="object_name"),
        Filter(key="kind", label=_("Kind"), lookup="object_type"),
        Filter(key="source", label=_("By way of"), kind="choice", choices=SOURCES),
        Filter(key="address", label=_("Address")),
        Filter(key="request", label=_("Request"), lookup="request_id"),
    ),
)
