"""Service accounts and access keys: lists, new, a new secret, on and off, delete. Secrets are shown once."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from accounts import services
from accounts.forms import KeyForm, NameForm
from accounts.models import AccessKey, User
from accounts.permissions import TENANT, has_right, require
from accounts.requests import actor_of
from accounts.selectors import any_keys, find_any_key, find_own_key, find_service_account, own_keys, service_accounts
from accounts.tables import KEYS, SERVICE_ACCOUNTS
from accounts.views import shared
from accounts.views.rights import rights_context
from core.errors import NotFound
from core.tables import build_table, table_response

ACCOUNTS, KEYS_URL = "accounts:service-account-list", "accounts:key-list"


@require_GET
def service_account_list(request: HttpRequest) -> HttpResponseBase:
    """Service accounts."""
    require(request.user, "service-account:read")
    table = build_table(request, service_accounts(request.user), SERVICE_ACCOUNTS)
    context = {"may_create": has_right(request.user, "service-account:create", TENANT)}
    return table_response(request, "accounts/service_account_list.html", table, context)


@sensitive_variables("made")
@require_http_methods(["GET", "HEAD", "POST"])
def service_account_new(request: HttpRequest) -> HttpResponse:
    """A new one; its secret is shown once."""
    require(request.user, "service-account:create", TENANT)
    form = NameForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["name"]
        made = shared.save(form, lambda: services.create_service_account(actor_of(request), name=name))
        if made is not None:
            account, key, secret = made
            return _secret(request, key, secret, reverse("accounts:service-account-detail", args=[account.pk]))
    context = {
        "title": _("New service account"),
        "crumbs": [{"label": _("Service accounts"), "url": reverse(ACCOUNTS)}],
        "submit": _("Create service account"),
        "cancel_url": reverse(ACCOUNTS),
        "lead": _("For a pipeline or a script. It may nothing until an access rule gives it a role."),
    }
    return shared.form_page(request, form, context)


@require_GET
def service_account_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """One service account: its key, and what it may do."""
    account = find_service_account(request.user, pk)
    context = {
        "subject": account,
        "crumbs": [{"label": _("Service accounts"), "url": reverse(ACCOUNTS)}],
        "key": _key_of(account),
        "may_update": has_right(request.user, "service-account:update", TENANT),
        "may_delete": has_right(request.user, "service-account:delete", TENANT),
        "may_grant": has_right(request.user, "access_rules:create"),
        **rights_context(request, account),
    }
    return render(request, "accounts/service_account_detail.html", context)


@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def service_account_secret(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then shows a new secret once."""
    account = find_service_account(request.user, pk)
    require(request.user, "service-account:update", TENANT)
    back = reverse("accounts:service-account-detail", args=[account.pk])

    def act() -> HttpResponse:
        secret = services.renew_service_account_secret(actor_of(request), account=account)
        return _secret(request, _key_of(account), secret, back)

    return shared.confirm_page(request, _renewing(account.name, back), act)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_enabled(request: HttpRequest, pk: str) -> HttpResponse:
    """Switches it on (`enabled=1`) or off; its tokens end then."""
    account = find_service_account(request.user, pk)
    if request.method != "POST":
        return redirect("accounts:service-account-detail", account.pk)
    enabled = request.POST.get("enabled") == "1"
    services.set_service_account_enabled(actor_of(request), account=account, enabled=enabled)
    return redirect("accounts:service-account-detail", account.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def service_account_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then deletes it."""
    account = find_service_account(request.user, pk)
    require(request.user, "service-account:delete", TENANT)
    context = {
        "title": _("Delete service account %(name)s") % {"name": account.name},
        "hits": shared.hits(_("its key, its tokens and its access rules"), icon="key"),
        "name": account.name,
        "act": _("Delete service account"),
        "back_url": reverse(ACCOUNTS),
        "done": _("Done: %(name)s.") % {"name": account.name},
    }
    return shared.confirm_page(
        request, context, lambda: services.delete_service_account(actor_of(request), account=account)
    )


@require_GET
def key_list(request: HttpRequest) -> HttpResponseBase:
    """One's own access keys; everybody's (`?of=all`) for who administrates them."""
    everybodys = request.GET.get("of") == "all"
    table = build_table(request, any_keys(request.user) if everybodys else own_keys(request.user), KEYS)
    context = {"everybodys": everybodys, "may_see_all": has_right(request.user, "access-keys:read", TENANT)}
    return table_response(request, "accounts/key_list.html", table, context)


@sensitive_variables("made")
@require_http_methods(["GET", "HEAD", "POST"])
def key_new(request: HttpRequest) -> HttpResponse:
    """A new key of one's own; its secret is shown once."""
    form = KeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        made = shared.save(
            form,
            lambda: services.create_access_key(actor_of(request), name=data["name"], expires_at=data["expiresAt"]),
        )
        if made is not None:
            return _secret(request, *made, reverse(KEYS_URL))
    context = {
        "title": _("New access key"),
        "crumbs": [{"label": _("Access keys"), "url": reverse(KEYS_URL)}],
        "submit": _("Create access key"),
        "cancel_url": reverse(KEYS_URL),
        "lead": _("It may what you may. For a pipeline that outlives you, make a service account."),
    }
    return shared.form_page(request, form, context)


@sensitive_variables("secret")
@require_http_methods(["GET", "HEAD", "POST"])
def key_secret(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then shows a new secret of one's own key once."""
    key = find_own_key(request.user, pk)

    def act() -> HttpResponse:
        return _secret(request, key, services.renew_access_key_secret(actor_of(request), key=key), reverse(KEYS_URL))

    return shared.confirm_page(request, _renewing(key.name, reverse(KEYS_URL)), act)


@require_http_methods(["GET", "HEAD", "POST"])
def key_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then revokes a key: one's own, or anybody's with the right."""
    try:
        key = find_own_key(request.user, pk)
    except NotFound:
        if not has_right(request.user, "access-keys:delete", TENANT):
            raise
        key = find_any_key(request.user, pk)
    context = {
        "title": _("Revoke access key %(name)s") % {"name": key.name},
        "lead": _("What still uses it fails from now on. It ends:"),
        "hits": shared.hits(_("the key %(id)s and every token asked for with it") % {"id": key.client_id}, icon="key"),
        "name": key.name,
        "act": _("Revoke"),
        "back_url": reverse(KEYS_URL),
        "done": _("Done: %(name)s.") % {"name": key.name},
    }
    return shared.confirm_page(request, context, lambda: services.revoke_access_key(actor_of(request), key=key))


def _key_of(account: User) -> AccessKey:
    return AccessKey.objects.get(user=account, revoked_at=None)


def _renewing(name: str, back_url: str) -> dict[str, object]:
    return {
        "title": _("New secret for %(name)s") % {"name": name},
        "lead": _("What still uses the old one fails from now on. It ends:"),
        "hits": shared.hits(_("the old secret and every token asked for with it"), icon="key"),
        "name": name,
        "act": _("Make new secret"),
        "back_url": back_url,
        "done": "",
    }


def _secret(request: HttpRequest, key: AccessKey, secret: str, back_url: str) -> HttpResponse:
    return shared.secret_page(
        request,
        {
            "title": _("Secret of %(name)s") % {"name": key.name},
            "lead": _("It is shown only this once. Keep it where secrets are kept; a lost one is replaced, not found."),
            "secrets": [
                {"label": _("Client id"), "value": key.client_id},
                {"label": _("Client secret"), "value": secret},
            ],
            "back_url": back_url,
        },
    )
