"""Roles that administrators make from rights."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.audit import Actor, record
from accounts.models import AccessRule, Role, User
from accounts.permissions import TENANT, require
from accounts.roles import BY_NAME, RIGHTS
from accounts.services.rights import people_of_group, rights_changed
from accounts.services.taking import unless_taken
from core.errors import Conflict, Fault, InvalidInput
from core.readable import is_readable, same_name, unreadable

NAME_LENGTH = 64


@transaction.atomic
def create_role(
    actor: Actor, *, name: str, description: str = "", rights: Collection[str] = (), enabled: bool = True
) -> Role:
    """A role of these rights. Nobody makes one of rights that they do not have everywhere themselves."""
    require(actor.user, "roles:create", TENANT)
    _check(actor, name, description, rights)
    role = Role(name=name, description=description, rights=sorted(rights), enabled=enabled)
    role.created_by = actor.user.email
    _save(role)
    record(actor, "create", role, after=_shown(role))
    return role


@transaction.atomic
def update_role(
    actor: Actor, *, role: Role, name: str, description: str, rights: Collection[str], enabled: bool
) -> Role:
    """Change a role; it holds at once for everybody who has it. Writes nothing where nothing differs."""
    require(actor.user, "roles:update", TENANT)
    _check(actor, name, description, rights)
    before = _shown(role)
    role.name, role.description, role.rights, role.enabled = name, description, sorted(rights), enabled
    after = _shown(role)
    changed = [key for key in after if before[key] != after[key]]
    if not changed:
        return role
    role.updated_at = timezone.now()
    _save(role)
    AccessRule.objects.filter(custom_role=role).update(role=name)
    record(actor, "update", role, before={k: before[k] for k in changed}, after={k: after[k] for k in changed})
    rights_changed(_holders(role))
    return role


@transaction.atomic
def delete_role(actor: Actor, *, role: Role) -> None:
    """Delete a role that nobody has: `Conflict` names how many rules give it."""
    require(actor.user, "roles:delete", TENANT)
    if told := what_gives(role):
        raise Conflict(told)
    record(actor, "delete", role, before=_shown(role))
    role.delete()


def what_gives(role: Role) -> str:
    """That access rules give this role, so that it cannot be deleted; empty where none does."""
    if not (count := role.access_rules.count()):
        return ""
    text = ngettext(
        "%(count)d access rule gives this role. Remove it first.",
        "%(count)d access rules give this role. Remove them first.",
        count,
    )
    return text % {"count": count}


def _check(actor: Actor, name: str, description: str, rights: Collection[str]) -> None:
    faults = [*unreadable("name", name), *unreadable("description", description, several_lines=True)]
    if not name.strip() or name != name.strip() or len(name) > NAME_LENGTH or not (faults or is_readable(name)):
        faults.append(Fault("name", _("This is no name of a role"), _("1 to 64 printable characters")))
    if len(description) > 500:
        faults.append(Fault("description", _("The description is too long"), _("up to 500 characters")))
    unknown = sorted(set(rights) - RIGHTS)
    if unknown:
        faults.append(Fault("permissions", _("There is no right %(right)s") % {"right": unknown[0][:80]}))
    if not rights:
        faults.append(Fault("permissions", _("A role needs a right")))
    if faults:
        raise InvalidInput(faults)
    for right in sorted(rights):
        require(actor.user, right, TENANT)


def _save(role: Role) -> None:
    taken = _("A role of this name exists already.")
    others = [*BY_NAME, *Role.objects.exclude(pk=role.pk).values_list("name", flat=True)]
    if same_name(role.name) in map(same_name, others):
        raise Conflict(taken)
    with unless_taken(taken):
        role.save()


def _holders(role: Role) -> list[User]:
    rules = role.access_rules.select_related("user")
    people = {rule.user.pk: rule.user for rule in rules if rule.user}
    for group in {rule.group for rule in rules if rule.group}:
        people |= {person.pk: person for person in people_of_group(group)}
    return list(people.values())


def _shown(role: Role) -> dict[str, object]:
    return {"name": role.name, "description": role.description, "rights": role.rights, "enabled": role.enabled}
