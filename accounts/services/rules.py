"""Who gets which role where."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.audit import Actor, record
from accounts.models import AccessRule, Role, User
from accounts.permissions import require
from accounts.roles import BY_NAME
from accounts.scopes import Target, scope_of
from accounts.services.rights import administrators, people_of_group, require_rights_of, rights_changed
from core.errors import Conflict, InvalidInput
from core.readable import is_readable, unreadable


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the identity provider, as the subject of a rule."""

    name: str


@transaction.atomic
def grant(actor: Actor, *, subject: User | Group, role: str, target: Target) -> AccessRule:
    """Give `subject` a role from now on. Giving it twice changes nothing.

    Nobody gives more than they have: every right of the role must be the actor's own in that scope. Raises
    `InvalidInput` for an unknown role, `NotPermitted` that names the right which is missing.
    """
    require(actor.user, "access_rules:create", target.scope)
    rule = AccessRule(
        user=subject if isinstance(subject, User) else None,
        group="" if isinstance(subject, User) else _checked_group(subject.name),
        role=role,
        custom_role=_custom(role),
        scope_type=target.scope_type,
        scope_id=target.scope_id,
        cluster_id=target.scope.cluster_id,
        created_by=actor.user.email,
    )
    require_rights_of(actor, rule, target.scope)
    same = AccessRule.objects.filter(
        user=rule.user, group=rule.group, role=role, scope_type=rule.scope_type, scope_id=rule.scope_id
    )
    if (there := same.first()) is not None:
        return there
    try:
        with transaction.atomic():
            rule.save(force_insert=True)
    except IntegrityError:  # somebody else gave it in the same moment
        return same.get()
    record(actor, "create", rule, after=_shown(rule), scope=target.scope)
    rights_changed(_concerned(rule))
    return rule


@transaction.atomic
def revoke(actor: Actor, *, rule: AccessRule) -> None:
    """Take a role away: it ends at once, open streams included. The last administrator keeps theirs: `Conflict`."""
    scope = scope_of(rule)
    require(actor.user, "access_rules:delete", scope)
    require_rights_of(actor, rule, scope)
    if told := what_needs(rule):
        raise Conflict(told)
    concerned = _concerned(rule)
    record(actor, "delete", rule, before=_shown(rule), scope=scope)
    rule.delete()
    rights_changed(concerned)


def what_needs(rule: AccessRule) -> str:
    """Why a rule cannot be taken away, as a sentence; empty where nothing forbids it."""
    if [each.pk for each in administrators()] == [rule.pk]:
        return _("This is the last rule by which anybody may administrate the whole installation.")
    return ""


def known_roles() -> list[str]:
    """The names of all roles that can be given. One query."""
    return [*BY_NAME, *Role.objects.filter(enabled=True).order_by("name").values_list("name", flat=True)]


def _custom(name: str) -> Role | None:
    if name in BY_NAME:
        return None
    role = Role.objects.filter(name=name, enabled=True).first()
    if role is None:
        raise InvalidInput.of("role", _("There is no such role"), ", ".join(known_roles()))
    return role


def _checked_group(name: str) -> str:
    name = name.strip()
    if faults := unreadable("subjectId", name):
        raise InvalidInput(faults)
    if not name or len(name) > 200 or not is_readable(name):
        raise InvalidInput.of("subjectId", _("This is no name of a group"), _("1 to 200 printable characters"))
    return name


def _concerned(rule: AccessRule) -> list[User]:
    return [rule.user] if rule.user else people_of_group(rule.group)


def _shown(rule: AccessRule) -> dict[str, str]:
    subject = {"user": rule.user.email} if rule.user else {"group": rule.group}
    return {**subject, "role": rule.role, "scope": f"{rule.scope_type} {rule.scope_id}".rstrip()}
