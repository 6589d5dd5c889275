"""The page that a link to a new password opens."""

from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.forms import NewPasswordForm
from accounts.requests import attempt_of
from accounts.services import note_sign_in, use_reset_link, user_of_link
from accounts.sessions import begin_session
from accounts.throttling import TooManyFailures
from accounts.views import shared


@login_not_required
@never_cache
@sensitive_post_parameters()
@sensitive_variables("token", "new")
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: HttpRequest) -> HttpResponse:
    """Choose a new password, and be signed in with it; 410 where the link is good for nothing any more."""
    token, attempt = request.GET.get("token", ""), attempt_of(request, request.GET.get("user", ""))
    try:
        user = user_of_link(attempt, token)
    except TooManyFailures as error:
        return _ended(request, error.message, 429)
    if user is None:
        return _ended(request, _("It was used already, its time is over, or it is not whole. Ask for another."), 410)
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        new = form.cleaned_data["newPassword"]
        changed = shared.save(form, lambda: use_reset_link(attempt, user=user, token=token, new=new))
        if changed is not None:
            begin_session(request, changed)
            note_sign_in(replace(attempt, subject=changed.email), changed)
            messages.success(request, _("Your password is changed."))
            return redirect("overview")
    context = {"form": form, "name": user.email}
    return render(request, "accounts/reset.html", context, status=422 if request.method == "POST" else 200)


def _ended(request: HttpRequest, reason: str, status: int) -> HttpResponse:
    return render(request, "accounts/reset.html", {"ended": reason}, status=status)
