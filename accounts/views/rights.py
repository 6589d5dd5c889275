"""What may somebody do, and why: the table of rights, and the answer to one question."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.explaining import holdings, permissions, why
from accounts.forms import scope_label
from accounts.models import User
from accounts.permissions import TENANT, has_right
from accounts.role_words import ACTION_LABELS, RESOURCE_LABELS
from accounts.roles import ACTIONS, RESOURCES
from accounts.scopes import find_target, targets_for
from core.errors import InvalidInput, NotPermitted

RIGHT = "access_rules:read"


def rights_context(request: HttpRequest, user: User) -> dict[str, Any]:
    """For accounts/_rights.html: the rules of `user`, their rights, and the answer to `?right=…&scope=…`.

    One's own, or with the right to read rules on the whole tenant: some of them would be a wrong answer.
    """
    viewer = request.user
    if viewer != user and not has_right(viewer, RIGHT, TENANT):
        return {"hidden": RIGHT}
    held = holdings(user)
    targets = targets_for(viewer, "project:read") if isinstance(viewer, User) else []
    return {
        "held": held,
        "permissions": permissions(held),
        "actions": [(action, ACTION_LABELS[action]) for action in ACTIONS],
        "resources": [(resource, RESOURCE_LABELS[resource]) for resource in RESOURCES],
        "targets": [{"key": f"{t.scope_type}:{t.scope_id}", "label": scope_label(t)} for t in targets],
        **_answer(request, held),
    }


@require_GET
def own_rights(request: HttpRequest) -> HttpResponse:
    """What may I do, and why."""
    if not isinstance(request.user, User):
        raise NotPermitted("sign-in")
    return render(
        request, "accounts/own_rights.html", {"subject": request.user, **rights_context(request, request.user)}
    )


def _answer(request: HttpRequest, held: list[Any]) -> dict[str, Any]:
    resource, action = request.GET.get("resource", ""), request.GET.get("action", "")
    chosen = request.GET.get("scope", "tenant:")
    asked: dict[str, Any] = {"asked_resource": resource, "asked_action": action, "asked_scope": chosen}
    if resource not in RESOURCES or action not in ACTIONS:
        return asked
    kind, _colon, scope_id = chosen.partition(":")
    try:
        target = find_target(request.user, kind, scope_id)
    except InvalidInput as error:
        return {**asked, "question_error": error.message}
    right = f"{resource}:{action}"
    return {**asked, "asked_right": right, "asked_target": scope_label(target), "reasons": why(held, right, target)}
