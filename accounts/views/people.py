"""Users: list, new, one (what may they do, and why), password, sign-out, on and off, delete."""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from accounts import services
from accounts.forms import UserForm
from accounts.models import User
from accounts.permissions import TENANT, has_right, require
from accounts.requests import actor_of
from accounts.selectors import find_person, live_keys, people
from accounts.tables import USERS
from accounts.views import shared
from accounts.views.rights import rights_context
from core.tables import build_table, table_response

CRUMBS = "accounts:user-list"


@require_GET
def user_list(request: HttpRequest) -> HttpResponseBase:
    """People."""
    require(request.user, "users:read")
    table = build_table(request, people(request.user), USERS)
    context = {"may_create": has_right(request.user, "users:create", TENANT)}
    return table_response(request, "accounts/user_list.html", table, context)


@sensitive_variables("password", "made")
@require_http_methods(["GET", "HEAD", "POST"])
def user_new(request: HttpRequest) -> HttpResponse:
    """A new local person; the temporary password is shown once."""
    require(request.user, "users:create", TENANT)
    form = UserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        made = shared.save(
            form, lambda: services.create_user(actor_of(request), email=data["email"], name=data["name"])
        )
        if made is not None:
            return _password_page(request, *made)
    context = {
        "title": _("New user"),
        "crumbs": _crumbs(),
        "submit": _("Create user"),
        "cancel_url": reverse(CRUMBS),
        "lead": _("They sign in with a temporary password and choose their own then. Give them an access rule after."),
    }
    return shared.form_page(request, form, context)


@require_GET
def user_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """One person: what may they do, and why may they."""
    user = find_person(request.user, pk)
    context = {
        "subject": user,
        "crumbs": _crumbs(),
        "keys": live_keys().filter(user=user).order_by("name"),
        "may_see_keys": user == request.user or has_right(request.user, "access-keys:read", TENANT),
        "may_update": has_right(request.user, "users:update", TENANT),
        "may_delete": has_right(request.user, "users:delete", TENANT),
        "may_grant": has_right(request.user, "access_rules:create"),
        **rights_context(request, user),
    }
    return render(request, "accounts/user_detail.html", context)


@sensitive_variables("password")
@require_http_methods(["GET", "HEAD", "POST"])
def user_password(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then shows a new temporary password once."""
    user = find_person(request.user, pk)
    require(request.user, "users:update", TENANT)

    def act() -> HttpResponse:
        return _password_page(request, user, services.reset_password(actor_of(request), user=user))

    context = _confirm(user, _("Reset the password of %(name)s"), _("Reset password"))
    ends = shared.hits(_("every session and token of theirs: they are signed out everywhere"), icon="log-out")
    lead = _("They get a temporary password, which is shown once. It ends:")
    return shared.confirm_page(request, {**context, "hits": ends, "lead": lead, "act_icon": "key"}, act)


@sensitive_variables("link", "query", "token")
@require_http_methods(["GET", "HEAD", "POST"])
def user_reset_link(request: HttpRequest, pk: str) -> HttpResponse:
    """Shows once a link by which they choose a new password themselves."""
    user = find_person(request.user, pk)
    if request.method != "POST":
        return redirect("accounts:user-detail", user.pk)
    token = services.make_reset_link(actor_of(request), user=user)
    query = urlencode({"user": str(user.pk), "token": token})
    link = f"{reverse('accounts:reset')}?{query}"
    return shared.secret_page(
        request,
        {
            "title": _("Link to a new password for %(name)s") % {"name": user.email},
            "lead": _(
                "It is shown only this once and is good for one use within %(hours)d hours. Send it to them: whoever "
                "opens it chooses their password. Until then nothing changes; when they sign in, it ends."
            )
            % {"hours": settings.PASSWORD_RESET_TIMEOUT // 3600},
            "secrets": [{"label": _("Link"), "value": request.build_absolute_uri(link)}],
            "back_url": reverse("accounts:user-detail", args=[user.pk]),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def user_logout(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then ends every session, token and stream of the person's."""
    user = find_person(request.user, pk)
    require(request.user, "users:update", TENANT)
    context = _confirm(user, _("Sign %(name)s out everywhere"), _("Sign out"))
    ends = shared.hits(_("every session, token and open page of theirs"), icon="log-out")
    lead = _("They can sign in again at once. It ends:")
    return shared.confirm_page(
        request,
        {**context, "hits": ends, "lead": lead, "act_icon": "log-out"},
        lambda: services.force_logout(actor_of(request), user=user),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def user_enable(request: HttpRequest, pk: str) -> HttpResponse:
    """Switches a person on."""
    user = find_person(request.user, pk)
    if request.method != "POST":
        return redirect("accounts:user-detail", user.pk)
    services.set_enabled(actor_of(request), user=user, enabled=True)
    return redirect("accounts:user-detail", user.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def user_disable(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then switches a person off."""
    user = find_person(request.user, pk)
    require(request.user, "users:update", TENANT)
    context = _confirm(user, _("Disable %(name)s"), _("Disable"))
    ends = shared.hits(_("every session, token and open page of theirs"), icon="log-out")
    lead = _("Their access rules and keys are kept for when they are enabled again. It ends:")
    return shared.confirm_page(
        request,
        {**context, "hits": ends, "lead": lead, "act_icon": "ban", "obstacles": _obstacles(request, user)},
        lambda: services.set_enabled(actor_of(request), user=user, enabled=False),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def user_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then deletes."""
    user = find_person(request.user, pk)
    require(request.user, "users:delete", TENANT)
    rules, keys = user.access_rules.count(), live_keys().filter(user=user).count()
    context = {
        **_confirm(user, _("Delete %(name)s"), _("Delete user")),
        "back_url": reverse(CRUMBS),
        "obstacles": _obstacles(request, user),
        "hits": shared.hits(
            ngettext("%(n)d access rule", "%(n)d access rules", rules) % {"n": rules} if rules else "",
            ngettext("%(n)d access key", "%(n)d access keys", keys) % {"n": keys} if keys else "",
            icon="key",
        ),
    }
    return shared.confirm_page(request, context, lambda: services.delete_user(actor_of(request), user=user))


def _confirm(user: User, title: str, act: str) -> dict[str, str]:
    return {
        "title": title % {"name": user.email},
        "name": user.email,
        "act": act,
        "back_url": reverse("accounts:user-detail", args=[user.pk]),
        "done": _("Done: %(name)s.") % {"name": user.email},
    }


def _obstacles(request: HttpRequest, user: User) -> Sequence[Mapping[str, str]]:
    return shared.hits(services.what_keeps(actor_of(request), user), icon="shield")


def _password_page(request: HttpRequest, user: User, password: str) -> HttpResponse:
    return shared.secret_page(
        request,
        {
            "title": _("Temporary password of %(name)s") % {"name": user.email},
            "lead": _("It is shown only this once and expires on %(time)s. At the first sign-in they choose another.")
            % {"time": f"{user.temporary_until:%Y-%m-%d %H:%M} UTC"},
            "secrets": [{"label": _("Password"), "value": password}],
            "back_url": reverse("accounts:user-detail", args=[user.pk]),
        },
    )


def _crumbs() -> list[dict[str, str]]:
    return [{"label": _("Users"), "url": reverse(CRUMBS)}]
