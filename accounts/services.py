"""Signing in, and who gets which role where."""

from django.contrib.auth import authenticate
from django.db import transaction

from accounts import throttling
from accounts.audit import Actor, record
from accounts.models import AccessRule, ScopeType, User
from accounts.permissions import ADMINISTRATOR, ROLES, Scope, require
from core import live
from core.errors import InvalidInput


def verify_password(email: str, password: str, address: str) -> User | None:
    """The user with this e-mail and password, or None: unknown, wrong and disabled look and take the same.

    Raises `TooManyFailures` before the password is looked at.
    """
    throttling.check_allowed(email, address)
    user = authenticate(username=email.strip().lower(), password=password)
    if not isinstance(user, User):
        throttling.note_failure(email, address)
        return None
    throttling.forget_failures(email)
    return user


@transaction.atomic
def create_first_administrator(email: str, password: str) -> User:
    """The account that an empty installation starts with: administrator of everything."""
    user = User.objects.create_user(email, password)
    AccessRule.objects.create(user=user, role=ADMINISTRATOR, scope_type=ScopeType.TENANT, created_by="muster up")
    return user


@transaction.atomic
def grant(actor: Actor, *, user: User, role: str, scope_type: ScopeType, scope_id: str, scope: Scope) -> AccessRule:
    """Give `user` a role from now on; `scope` is where its scope lies. Raises `InvalidInput`, `NotPermitted`."""
    require(actor.user, "access_rules:create", scope)
    if role not in ROLES:
        raise InvalidInput.of("role", "There is no such role", ", ".join(ROLES))
    rule, made = AccessRule.objects.get_or_create(
        user=user,
        role=role,
        scope_type=scope_type,
        scope_id=scope_id,
        defaults={"cluster_id": scope.cluster_id, "created_by": actor.user.email},
    )
    if made:
        record(actor, "create", rule, after={"user": user.email, "role": role, "scope": f"{scope_type} {scope_id}"})
        _rights_changed(user)
    return rule


@transaction.atomic
def revoke(actor: Actor, *, rule: AccessRule, scope: Scope) -> None:
    """Take a role away. Open streams of the user are checked again at once."""
    require(actor.user, "access_rules:delete", scope)
    record(actor, "delete", rule, before={"user": rule.user.email, "role": rule.role})
    rule.delete()
    _rights_changed(rule.user)


def _rights_changed(user: User) -> None:
    user.__dict__.pop("_cached_access_rules", None)
    live.publish(*live.row_topics(User._meta.label, user.pk))
