"""Secrets of a project: write-only. What is stored is encrypted; the audit says that it changed, never to what.

They are no part of the project's spec and leave its generation alone: who edits or deletes the project meanwhile is not
told that somebody changed it.
"""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import SECRET, Actor
from accounts.permissions import require
from core.desired import hold
from core.errors import Conflict, InvalidInput, NotFound
from core.hints import hint_reconcile
from core.leases import poke
from organizations.models import FormerSecret, Project, ProjectSecret
from organizations.secrets import HUGGING_FACE_NAMES, SecretKind, check_name, checked_content, encrypt, object_names
from organizations.services.shared_secrets import spread, take_away


@transaction.atomic
def put_secret(
    actor: Actor, *, project: Project, kind: str, name: str = "", fields: Mapping[str, str], is_new: bool = False
) -> ProjectSecret:
    """Make or overwrite a secret. A Hugging Face token needs no name, there is one per project.

    Raises `InvalidInput`; `Conflict` where a secret of another kind writes the same object, or one of this name is
    there that `is_new` says is not.
    """
    hold(project)  # who makes one of this name meanwhile is through before it is looked for
    own = ProjectSecret.objects.filter(project=project, source=None)
    exists = own.filter(name=name or HUGGING_FACE_NAMES[0]).exists()
    require(actor.user, "credentials:update" if exists and not is_new else "credentials:create", project.scope)
    if exists and is_new:
        raise Conflict(_("Resource with this name already exists"), objects=[name])
    content = checked_content(kind, name, fields)
    _hold(project)
    if kind == SecretKind.HUGGING_FACE:
        name = HUGGING_FACE_NAMES[0]
    _put_aside_copies(project, object_names(kind, name))
    _refuse_taken(project, kind, name)
    _want_again(project, object_names(kind, name))
    secret, made = ProjectSecret.objects.update_or_create(
        project=project,
        name=name,
        defaults={
            "kind": kind,
            "credential": "",
            "keys": sorted(content),
            "content": encrypt(content),
            "created_by": actor.user.email,
            "updated_at": timezone.now(),
        },
    )
    audit.record(actor, "create" if made else "update", secret, after={"project": project.name, "content": SECRET})
    return secret


def _put_aside_copies(project: Project, names: Iterable[str]) -> None:
    """What is shared with the project under these names yields to its own."""
    wanted = set(names)
    copies = ProjectSecret.objects.filter(project=project).exclude(source=None)
    take_away(copy for copy in copies if wanted & set(object_names(copy.kind, copy.name)))


def _refuse_copy(secret: ProjectSecret) -> None:
    if secret.source_id is not None:
        message = _("The secret %(name)s is shared with the project: change it where it is shared from.")
        raise Conflict(message % {"name": secret.name}, objects=[secret.name])


def _refuse_taken(project: Project, kind: str, name: str) -> None:
    wanted = set(object_names(kind, name))
    for other in ProjectSecret.objects.filter(project=project).exclude(name=name):
        if wanted & set(object_names(other.kind, other.name)):
            raise Conflict(_("The secret %(name)s writes the same object.") % {"name": other.name})
    same = ProjectSecret.objects.filter(project=project, name=name).exclude(kind=kind).first()
    if same is not None:
        raise InvalidInput.of("kind", _("The secret %(name)s is of another kind") % {"name": name}, same.kind)


@transaction.atomic
def rename_secret(actor: Actor, *, secret: ProjectSecret, name: str) -> ProjectSecret:
    """Give it another name: its objects are written anew and those of the old name leave the cluster.

    Raises `InvalidInput`; `Conflict` where another secret writes the object; `NotFound` where it is gone.
    """
    project = secret.project
    require(actor.user, "credentials:update", project.scope)
    _hold_secret(secret)
    _refuse_copy(secret)
    if name == secret.name:
        return secret
    if secret.kind == SecretKind.HUGGING_FACE:
        raise InvalidInput.of("name", _("The Hugging Face token has a fixed name"), secret.name)
    check_name(name)
    _put_aside_copies(project, object_names(secret.kind, name))
    for other in ProjectSecret.objects.filter(project=project).exclude(pk=secret.pk):
        if name in object_names(other.kind, other.name):
            raise Conflict(_("The secret %(name)s writes the same object.") % {"name": other.name})
    _hold(project)
    audit.record(actor, "update", secret, before={"name": secret.name}, after={"name": name})
    _note_former(secret)
    _want_again(project, object_names(secret.kind, name))
    secret.name, secret.updated_at = name, timezone.now()
    secret.save(update_fields=["name", "updated_at"])
    spread([project])
    return secret


@transaction.atomic
def delete_secret(actor: Actor, *, secret: ProjectSecret) -> None:
    """Delete the secret; its objects leave the cluster with the next reconcile of the project. Raises `NotFound`."""
    project = secret.project
    require(actor.user, "credentials:delete", project.scope)
    _hold_secret(secret)
    _refuse_copy(secret)
    audit.record(actor, "delete", secret, before={"project": project.name, "name": secret.name})
    _note_former(secret)
    secret.delete()
    spread([project])
    poke(Project, [project.pk])
    hint_reconcile(project)


def _hold_secret(secret: ProjectSecret) -> None:
    """Keep the secret from being changed or deleted meanwhile. Raises `NotFound` where it is gone."""
    hold(secret.project)
    if not ProjectSecret.objects.filter(pk=secret.pk).exists():
        raise NotFound


def _hold(project: Project) -> None:
    """Make the project due, and keep it from being deleted until the secret is stored. Raises `Conflict` where it is
    to go already."""
    staying = Project.objects.filter(pk=project.pk, deletion_requested_at=None)
    if not staying.update(next_check_at=timezone.now()):
        raise Conflict(_("Project %(name)s is being deleted.") % {"name": project.name})
    hint_reconcile(project)


def _note_former(secret: ProjectSecret) -> None:
    """Its objects are to leave the cluster."""
    for name in object_names(secret.kind, secret.name):
        FormerSecret.objects.get_or_create(project=secret.project, name=name)


def _want_again(project: Project, names: Iterable[str]) -> None:
    """Written from now on: the reconcile that is at work may still delete them, the next one makes them anew."""
    FormerSecret.objects.filter(project=project, name__in=names).delete()
