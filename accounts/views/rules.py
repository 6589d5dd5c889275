"""Access rules: list, new, take away."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from accounts import services
from accounts.forms import RuleForm, scope_label
from accounts.models import AccessRule, ScopeType, User
from accounts.permissions import TENANT, Scope, has_right, require
from accounts.requests import actor_of
from accounts.roles import ROLE_LABELS, Text
from accounts.scopes import Target, find_target, names_of, scope_of, targets_for, visible_rules
from accounts.selectors import GROUP, find_subject, with_subject
from accounts.services import Group
from accounts.tables import RULES, SUBJECT_TYPES
from accounts.views import shared
from core.api.ids import number_of
from core.errors import InvalidInput, NotFound
from core.tables import build_table, table_response

# The page of a subject, and the right that it takes.
SUBJECT_PAGES = {
    "user": ("accounts:user-detail", "users:read"),
    "service-account": ("accounts:service-account-detail", "service-account:read"),
}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as the list shows it."""

    rule: AccessRule
    subject: str
    kind: Text
    role: Text
    scope: str
    url: str

    @property
    def pk(self) -> int:
        return self.rule.pk

    def __str__(self) -> str:
        return f"{self.subject}: {self.role}"


@require_GET
def rule_list(request: HttpRequest) -> HttpResponseBase:
    """The rules on scopes in which the viewer may read them."""
    require(request.user, "access_rules:read")
    table = build_table(
        request, with_subject(visible_rules(request.user)), RULES, present=partial(rule_rows, request.user)
    )
    context = {
        "may_create": has_right(request.user, "access_rules:create"),
        "may_delete": has_right(request.user, "access_rules:delete"),
    }
    return table_response(request, "accounts/rule_list.html", table, context)


def rule_rows(viewer: Any, rules: Any) -> list[RuleRow]:
    """Rules with the names of their scopes: three queries for all. Subjects whose page the viewer may not open have no
    link."""
    names, kinds = names_of(rules), dict(SUBJECT_TYPES)
    opened = {kind for kind, (_page, right) in SUBJECT_PAGES.items() if has_right(viewer, right, TENANT)}
    return [
        RuleRow(
            rule,
            rule.wire_subject,
            kinds.get(rule.wire_subject_type, rule.wire_subject_type),
            ROLE_LABELS.get(rule.role, rule.role),
            _scope_words(rule, names),
            _subject_url(rule, opened),
        )
        for rule in rules
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def rule_new(request: HttpRequest) -> HttpResponse:
    """Who, role, scope."""
    require(request.user, "access_rules:create")
    targets = targets_for(request.user, "access_rules:create") if isinstance(request.user, User) else []
    initial = {name: request.GET[name] for name in ("subjectType", "subjectId", "scope") if name in request.GET}
    form = RuleForm(request.POST or None, targets=targets, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        kind, _colon, scope_id = data["scope"].partition(":")
        target = find_target(request.user, kind, scope_id)
        made = shared.save(form, lambda: _grant(request, data, target))
        if made is not None:
            messages.success(request, _("%(name)s has the role now.") % {"name": data["subjectId"]})
            return redirect("accounts:rule-list")
    context = {
        "title": _("New access rule"),
        "crumbs": [{"label": _("Access rules"), "url": reverse("accounts:rule-list")}],
        "submit": _("Give role"),
        "cancel_url": reverse("accounts:rule-list"),
        "lead": _("It holds at once. You can give only rights that you have in that scope yourself."),
    }
    return shared.form_page(request, form, context)


@require_http_methods(["GET", "HEAD", "POST"])
def rule_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then takes the role away."""
    require(request.user, "access_rules:read")
    rule = with_subject(visible_rules(request.user)).filter(pk=number_of(pk)).first()
    if rule is None:
        raise NotFound
    require(request.user, "access_rules:delete", scope_of(rule))
    row = rule_rows(request.user, [rule])[0]
    context = {
        "title": _("Take the role from %(name)s") % {"name": row.subject},
        "lead": _("It ends at once, on open pages too. They lose:"),
        "hits": shared.hits(_("%(role)s on %(scope)s") % {"role": row.role, "scope": row.scope}, icon="shield"),
        "obstacles": shared.hits(services.what_needs(rule), icon="shield"),
        "name": row.subject,
        "act": _("Take role away"),
        "back_url": reverse("accounts:rule-list"),
        "done": _("The role is taken from %(name)s.") % {"name": row.subject},
    }
    return shared.confirm_page(request, context, lambda: services.revoke(actor_of(request), rule=rule))


def _grant(request: HttpRequest, data: dict[str, Any], target: Target) -> AccessRule:
    subject: User | Group | None = Group(data["subjectId"])
    if data["subjectType"] != GROUP:
        subject = find_subject(data["subjectType"], data["subjectId"])
    if subject is None:
        raise InvalidInput.of("subjectId", _("There is nobody of this name"))
    return services.grant(actor_of(request), subject=subject, role=data["role"], target=target)


def _scope_words(rule: AccessRule, names: dict[tuple[str, str], str]) -> str:
    name = names.get((rule.scope_type, rule.scope_id), rule.scope_id)
    return scope_label(Target(ScopeType(rule.scope_type), rule.scope_id, Scope(), name))


def _subject_url(rule: AccessRule, opened: set[str]) -> str:
    if rule.user is None or rule.user.kind not in opened:
        return ""
    page, _right = SUBJECT_PAGES[rule.user.kind]
    return reverse(page, args=[rule.user.pk])
