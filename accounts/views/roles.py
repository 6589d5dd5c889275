"""Roles: those there are, new, change, delete."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from accounts import services
from accounts.forms import RoleForm
from accounts.models import Role
from accounts.permissions import TENANT, has_right, require
from accounts.requests import actor_of
from accounts.role_words import RESOURCE_LABELS, action_labels
from accounts.roles import ACTIONS, GROUP_LABELS, PREDEFINED, RESOURCE_GROUPS, RIGHTS
from accounts.services.roles import what_gives
from accounts.stored_now import StoredNow, show_stored, stored_now, yes_or_no
from accounts.views import shared
from core.api.ids import number_of
from core.edit_forms import hold_as_opened, is_outdated_by_time, opened_at, tell_unchanged
from core.errors import NotFound, Stale

LIST = "accounts:role-list"


@require_GET
def role_list(request: HttpRequest) -> HttpResponse:
    """Predefined and custom roles."""
    require(request.user, "roles:read")
    context = {
        "custom": Role.objects.annotate(rule_count=Count("access_rules")).order_by("name"),
        "predefined": PREDEFINED,
        "may_create": has_right(request.user, "roles:create", TENANT),
    }
    return render(request, "accounts/role_list.html", context)


@require_GET
def role_predefined(request: HttpRequest, number: str) -> HttpResponse:
    """What a predefined role holds."""
    require(request.user, "roles:read")
    role = next((role for role in PREDEFINED if str(role.number) == number), None)
    if role is None:
        raise NotFound
    return render(
        request,
        "accounts/role_detail.html",
        {
            "role": role,
            "matrix": matrix(role.rights),
            "heads": action_labels(),
            "crumbs": _crumbs(),
            "may_create": has_right(request.user, "roles:create", TENANT),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def role_new(request: HttpRequest) -> HttpResponse:
    """A role of rights; `?of=` copies those of a predefined one."""
    require(request.user, "roles:create", TENANT)
    form, rights = RoleForm(request.POST or None, initial={"enabled": True}), _sent(request)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        made = shared.save(
            form,
            lambda: services.create_role(
                actor_of(request),
                name=data["name"],
                description=data["description"],
                rights=rights,
                enabled=data["enabled"],
            ),
        )
        if made is not None:
            messages.success(request, _("The role %(name)s can be given now.") % {"name": made.name})
            return redirect(LIST)
    elif request.method != "POST":
        model = next((role for role in PREDEFINED if str(role.number) == request.GET.get("of", "")), None)
        rights = model.rights if model else frozenset()
    return _form_page(request, form, matrix(rights), _("New role"))


@require_http_methods(["GET", "HEAD", "POST"])
def role_edit(request: HttpRequest, pk: str) -> HttpResponse:
    """Change a custom role; it holds at once."""
    require(request.user, "roles:read")
    role = _find(pk)
    initial = {"name": role.name, "description": role.description, "enabled": role.enabled}
    form = RoleForm(request.POST or None, initial=initial)
    rights = _sent(request) if request.method == "POST" else frozenset(role.rights)
    before, stored = role.updated_at, dict[str, StoredNow]()
    if request.method == "POST":
        require(request.user, "roles:update", TENANT)
        if is_outdated_by_time(request, role) and (form.has_changed() or rights != frozenset(role.rights)):
            form.add_error(None, Stale().message)
            show_stored(form, request.user, role)
            stored = _stored_rights(request, role, rights)
        if form.is_valid():
            made = shared.save(form, lambda: _update(request, role, form.cleaned_data, rights))
            if made is not None:
                if made.updated_at == before:
                    tell_unchanged(request, made)
                else:
                    messages.success(request, _("The role %(name)s is changed.") % {"name": made.name})
                return redirect(LIST)
    return _form_page(request, form, matrix(rights, stored), role.name, role)


def _stored_rights(request: HttpRequest, role: Role, rights: frozenset[str]) -> dict[str, StoredNow]:
    """What is stored now of each right that differs."""
    written = stored_now(request.user, role, {("rights",): yes_or_no(True)})[("rights",)]
    return {right: replace(written, text=yes_or_no(right in role.rights)) for right in rights ^ set(role.rights)}


@transaction.atomic
def _update(request: HttpRequest, role: Role, data: dict[str, Any], rights: frozenset[str]) -> Role:
    hold_as_opened(request, role)
    return services.update_role(
        actor_of(request),
        role=role,
        name=data["name"],
        description=data["description"],
        rights=rights,
        enabled=data["enabled"],
    )


@require_http_methods(["GET", "HEAD", "POST"])
def role_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then deletes a role that nobody has."""
    require(request.user, "roles:delete", TENANT)
    role = _find(pk)
    context = {
        "title": _("Delete role %(name)s") % {"name": role.name},
        "hits": [],
        "obstacles": shared.hits(what_gives(role), icon="shield"),
        "name": role.name,
        "act": _("Delete role"),
        "back_url": reverse(LIST),
        "done": _("Done: %(name)s.") % {"name": role.name},
    }
    return shared.confirm_page(request, context, lambda: services.delete_role(actor_of(request), role=role))


def matrix(rights: Iterable[str], stored: Mapping[str, StoredNow] = MappingProxyType({})) -> list[dict[str, Any]]:
    """Every resource type by group, with whether each action is held, and what is `stored` now where that differs."""
    held = frozenset(rights)
    return [
        {
            "group": GROUP_LABELS[group],
            "rows": [
                {
                    "resource": resource,
                    "label": RESOURCE_LABELS[resource],
                    "cells": [
                        (right, right in held, stored.get(right)) for right in map(f"{resource}:{{}}".format, ACTIONS)
                    ],
                }
                for resource in resources
            ],
        }
        for group, resources in RESOURCE_GROUPS.items()
    ]


def _form_page(
    request: HttpRequest, form: RoleForm, rights: list[dict[str, Any]], title: str, role: Role | None = None
) -> HttpResponse:
    right = "roles:update" if role else "roles:create"
    context = {
        "form": form,
        "title": title,
        "role": role,
        "updated": opened_at(request, role) if role else "",
        "matrix": rights,
        "heads": action_labels(),
        "crumbs": _crumbs(),
        "may_save": has_right(request.user, right, TENANT),
        "may_delete": role is not None and has_right(request.user, "roles:delete", TENANT),
    }
    return render(request, "accounts/role_form.html", context, status=422 if request.method == "POST" else 200)


def _sent(request: HttpRequest) -> frozenset[str]:
    return frozenset(request.POST.getlist("right")) & RIGHTS


def _find(pk: str) -> Role:
    role = Role.objects.filter(pk=number_of(pk)).first()
    if role is None:
        raise NotFound
    return role


def _crumbs() -> list[dict[str, str]]:
    return [{"label": _("Roles"), "url": reverse(LIST)}]
