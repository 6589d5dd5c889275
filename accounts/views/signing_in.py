"""Signing in and out, and one's own password."""

import structlog
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from accounts import identity_provider, security
from accounts.audit import Actor, record_attempt
from accounts.forms import PasswordForm, SignInForm
from accounts.models import User
from accounts.requests import actor_of, attempt_of
from accounts.services import (
    change_own_password,
    is_own_password,
    note_sign_in,
    note_sign_out,
    user_of_identity,
    verify_password,
)
from accounts.sessions import begin_session
from accounts.throttling import TooManyFailures
from accounts.views import shared
from core.errors import Fault, NotFound

log = structlog.get_logger(__name__)
# With it the sign-in page stays, for those who have a password, where it leads on to the provider by itself.
LOCAL = "local"


@login_not_required
@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form; on success to where the person wanted to go, if that is on this site."""
    if request.user.is_authenticated and request.method != "POST":
        return redirect(_next(request))
    form = SignInForm(request.POST or None)
    if form.is_valid():
        try:
            user = verify_password(attempt_of(request, form.cleaned_data["email"]), form.cleaned_data["password"])
        except TooManyFailures as error:
            form.add_error(None, error.message)
            return render(request, "accounts/login.html", _context(request, form), status=429)
        if user is not None:
            begin_session(request, user)
            return redirect(_next(request))
        form.add_error(None, _("This e-mail and password do not belong together, or the account is disabled."))
        form.add_error(None, _("A temporary password that has expired opens nothing: ask for another."))
    status = 422 if request.method == "POST" else 200
    answer = render(request, "accounts/login.html", _context(request, form), status=status)
    if request.method != "POST" and LOCAL not in request.GET and security.goes_to_provider():
        _lead_on(answer, f"{reverse('accounts:provider-start')}?{urlencode({'next': _next(request)})}")
    return answer


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends the session; the address alone does not, so that no link can. Then to where the installation says."""
    if request.method != "POST":
        return redirect("overview")
    if isinstance(request.user, User):
        note_sign_out(attempt_of(request, request.user.email), request.user)
    logout(request)
    if address := security.logout_address():
        return _lead_on(render(request, "accounts/signed_out.html", {"address": address}), address)
    # Who has just signed out is not signed in again by the provider.
    local = f"?{LOCAL}" if security.goes_to_provider() else ""
    return redirect(f"{reverse('accounts:login')}{local}")


@login_not_required
@never_cache
@require_GET
def provider_start(request: HttpRequest) -> HttpResponse:
    """To the identity provider, remembering where the person wanted to go."""
    if not identity_provider.is_configured():
        raise NotFound
    request.session["after_sign_in"] = _next(request)
    try:
        return identity_provider.begin(request, request.build_absolute_uri(reverse("accounts:provider-return")))
    except identity_provider.ProviderFailed as error:
        return _provider_failed(request, str(error))


@login_not_required
@never_cache
@require_GET
def provider_return(request: HttpRequest) -> HttpResponse:
    """Back from the identity provider: signs in whom it names."""
    if not identity_provider.is_configured():
        raise NotFound
    target = request.session.get("after_sign_in", "/")
    try:
        identity = identity_provider.finish(request)
    except identity_provider.ProviderFailed as error:
        return _provider_failed(request, str(error))
    attempt = attempt_of(request, identity.email)
    user = user_of_identity(identity, attempt)
    if user is None:
        record_attempt(attempt, "sign-in", reason="not this account's, or disabled")
        text = _("The account %(name)s is disabled, or is a local one.") % {"name": identity.email}
        return _sign_in_page(request, text, 403)
    begin_session(request, user)
    note_sign_in(attempt, user)
    return redirect(target)


def _provider_failed(request: HttpRequest, reason: str) -> HttpResponse:
    log.info("identity provider refused", reason=reason)
    record_attempt(attempt_of(request, "identity provider"), "sign-in", reason=reason)
    text = _("The identity provider did not sign you in. Try again; if it fails again, tell your administrator.")
    return _sign_in_page(request, text, 502)


def _sign_in_page(request: HttpRequest, error: str, status: int) -> HttpResponse:
    form = SignInForm()
    context = {"form": form, "next": "/", "provider": identity_provider.is_configured(), "error": error}
    return render(request, "accounts/login.html", context, status=status)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def own_password(request: HttpRequest) -> HttpResponse:
    """Choose another password; the session at hand goes on, all others end."""
    form, actor = PasswordForm(request.POST or None), actor_of(request)
    if request.method == "POST" and form.is_valid():
        current, new = form.cleaned_data["currentPassword"], form.cleaned_data["newPassword"]
        if not is_own_password(actor, current=current):
            form.add_error("currentPassword", Fault("currentPassword", _("This is not your current password")).sentence)
        elif shared.save(form, lambda: _change(actor, current, new)):
            begin_session(request, User.objects.get(pk=actor.user.pk))
            messages.success(request, _("Your password is changed."))
            return redirect("overview")
    context = {
        "title": _("Change password"),
        "submit": _("Change password"),
        "cancel_url": reverse("overview"),
        "lead": _("The password you have is a temporary one: choose your own.")
        if actor.user.must_change_password
        else _("Your other sessions and tokens end then."),
    }
    return shared.form_page(request, form, context)


def _lead_on(answer: HttpResponse, address: str) -> HttpResponse:
    """Send the browser on at once, also after a form: a redirect would be held against the policy's form-action."""
    answer.headers["Refresh"] = f"0; url={address}"
    return answer


def _change(actor: Actor, current: str, new: str) -> bool:
    change_own_password(actor, current=current, new=new)
    return True


def _context(request: HttpRequest, form: SignInForm) -> dict[str, object]:
    return {"form": form, "next": _next(request), "provider": identity_provider.is_configured()}


def _next(request: HttpRequest) -> str:
    target = request.POST.get("next") or request.GET.get("next") or "/"
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else "/"
