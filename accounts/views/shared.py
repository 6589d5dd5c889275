"""What the pages of Administration share: saving a form, asking before a destructive act, showing a secret once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from core.errors import Conflict, InvalidInput, Stale

Answer = TypeVar("Answer")


def save(form: forms.Form, change: Callable[[], Answer]) -> Answer | None:
    """Do it, or put what is wrong beside the fields and answer None."""
    try:
        return change()
    except InvalidInput as error:
        for fault in error.faults:
            form.add_error(fault.field if fault.field in form.fields else None, fault.sentence)
    except (Conflict, Stale) as error:
        form.add_error(None, error.message)
    return None


def form_page(request: HttpRequest, form: forms.Form, context: Mapping[str, Any]) -> HttpResponse:
    """A page with one form. Context: title, crumbs, submit, cancel_url, lead."""
    status = 422 if request.method == "POST" else 200
    return render(request, "accounts/form.html", {**context, "form": form}, status=status)


def secret_page(request: HttpRequest, context: Mapping[str, Any]) -> HttpResponse:
    """Shows a secret this once: no cache keeps it. Context: title, lead, secrets of {label, value}, back_url."""
    response = render(request, "accounts/secret.html", dict(context))
    add_never_cache_headers(response)
    response.headers["Cache-Control"] = "no-store"
    return response


def confirm_page(
    request: HttpRequest, context: Mapping[str, Any], act: Callable[[], HttpResponse | None]
) -> HttpResponse:
    """Asks for the name, then acts. Context: title, lead, hits, name, act, back_url, done (a message)."""
    error, status = "", 200
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() == context["name"]:
            try:
                answer = act()
            except Conflict as conflict:
                error, status = conflict.message, 409
            else:
                if answer is None:
                    messages.success(request, context["done"])
                    return redirect(context["back_url"])
                return answer
        else:
            error, status = _("This is not the name."), 422
    return render(request, "confirm.html", {**context, "error": error}, status=status)


def hits(*texts: str, icon: str = "circle-dot") -> Sequence[Mapping[str, str]]:
    """What a destructive act hits, as the confirmation lists it."""
    return [{"text": text, "icon": icon} for text in texts if text]
