"""Finds people, service accounts and keys for those who may see them. Absent and invisible are alike."""

import uuid

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, CharField, F, IntegerField, Q, QuerySet, Value, When
from django.utils import timezone

from accounts.models import AccessKey, AccessRule, User, UserKind
from accounts.permissions import reach, require
from accounts.roles import CUSTOM_ROLES_FROM, PREDEFINED
from core.api.ids import number_of
from core.errors import NotFound

GROUP = "group"


def people(viewer: User | AnonymousUser) -> QuerySet[User]:
    """The people that `viewer` may see: all with users:read on the whole tenant, else themselves."""
    rows = User.objects.filter(kind=UserKind.PERSON)
    return rows if _everywhere(viewer, "users:read") else rows.filter(pk__in=[viewer.pk])


def service_accounts(viewer: User | AnonymousUser) -> QuerySet[User]:
    """The service accounts that `viewer` may see: all with service-account:read on the whole tenant, else none."""
    rows = User.objects.filter(kind=UserKind.SERVICE_ACCOUNT).prefetch_related("access_keys")
    return rows if _everywhere(viewer, "service-account:read") else rows.none()


def live_keys() -> QuerySet[AccessKey]:
    """Personal access keys that were not revoked, expired ones included: their owner must see that they are."""
    return AccessKey.objects.filter(revoked_at=None, user__kind=UserKind.PERSON).select_related("user")


def own_keys(viewer: User | AnonymousUser) -> QuerySet[AccessKey]:
    """The viewer's own keys."""
    return live_keys().filter(user__in=[viewer.pk])


def find_person(viewer: User | AnonymousUser, pk: str) -> User:
    """One person by id. Raises `NotPermitted` without the right, `NotFound`."""
    require(viewer, "users:read")
    return _find(people(viewer), pk)


def find_service_account(viewer: User | AnonymousUser, pk: str) -> User:
    """One service account by id. Raises `NotPermitted` without the right, `NotFound`."""
    require(viewer, "service-account:read")
    return _find(service_accounts(viewer), pk)


def find_own_key(viewer: User | AnonymousUser, pk: str) -> AccessKey:
    """One of the viewer's own keys. Raises `NotFound`."""
    return _key(own_keys(viewer), pk)


def any_keys(viewer: User | AnonymousUser) -> QuerySet[AccessKey]:
    """Everybody's keys for who may read them on the whole tenant, else the viewer's own. Raises `NotPermitted`."""
    require(viewer, "access-keys:read")
    return live_keys() if _everywhere(viewer, "access-keys:read") else own_keys(viewer)


def find_any_key(viewer: User | AnonymousUser, pk: str) -> AccessKey:
    """Anybody's key, for who administrates them. Raises `NotPermitted`, `NotFound`."""
    return _key(any_keys(viewer), pk)


def find_subject(subject_type: str, subject_id: str) -> User | None:
    """The person (by e-mail or id) or service account (by id, client id or name, in this order) that a rule names."""
    rows = User.objects.filter(kind=subject_type)
    if subject_type == UserKind.PERSON:
        named = Q(email=subject_id.strip().lower())
    else:
        named = Q(name=subject_id) | Q(access_keys__client_id=subject_id, access_keys__revoked_at=None)
    pk = _uuid(subject_id)
    if pk is not None:
        named |= Q(pk=pk)
    # A name can look like the id of another account.
    return min(rows.filter(named).distinct(), key=lambda user: (user.pk != pk, user.name == subject_id), default=None)


def with_subject(rules: QuerySet[AccessRule]) -> QuerySet[AccessRule]:
    """Rules with what their lists are sorted by: `wire_subject`, `wire_subject_type`, `wire_role`."""
    numbers = [When(custom_role=None, role=role.name, then=Value(role.number)) for role in PREDEFINED]
    return rules.annotate(
        wire_subject=Case(
            When(user=None, then=F("group")),
            When(user__kind=UserKind.SERVICE_ACCOUNT, then=F("user__name")),
            default=F("user__email"),
            output_field=CharField(),
        ),
        wire_subject_type=Case(When(user=None, then=Value(GROUP)), default=F("user__kind"), output_field=CharField()),
        wire_role=Case(*numbers, default=F("custom_role_id") + CUSTOM_ROLES_FROM, output_field=IntegerField()),
    )


def is_expired(key: AccessKey) -> bool:
    """Whether a key's time is over."""
    return key.expires_at is not None and key.expires_at <= timezone.now()


def _everywhere(viewer: User | AnonymousUser, right: str) -> bool:
    return reach(viewer, right).everywhere


def _find(rows: QuerySet[User], pk: str) -> User:
    number = _uuid(pk)
    found = rows.filter(pk=number).first() if number else None
    if found is None:
        raise NotFound
    return found


def _key(rows: QuerySet[AccessKey], pk: str) -> AccessKey:
    found = rows.filter(pk=number_of(pk)).first()
    if found is None:
        raise NotFound
    return found


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
