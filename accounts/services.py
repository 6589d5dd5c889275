"""Signing in, and the accounts and rules that commands make."""

from django.contrib.auth import authenticate
from django.db import transaction

from accounts import throttling
from accounts.models import AccessRule, ScopeType, User
from accounts.permissions import ADMINISTRATOR


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
