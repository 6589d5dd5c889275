"""Secrets of a department, a cluster or the whole installation: each project in it gets a copy, one that is made later
too. A project's own secret of the same objects stays, and so does the copy of the nearer scope.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import SECRET, Actor
from accounts.permissions import TENANT, Scope, require
from accounts.services.taking import unless_taken
from clusters.models import Cluster
from core.errors import InvalidInput, NotFound
from core.hints import hint_reconcile_of
from core.leases import poke
from organizations.models import Department, FormerSecret, Project, ProjectSecret, SharedSecret
from organizations.secrets import HUGGING_FACE_NAMES, SecretKind, check_name, checked_content, encrypt, object_names


@dataclass(frozen=True, slots=True)
class Place:
    """Where a secret is shared: a department, a cluster, or everywhere."""

    cluster: Cluster | None = None
    department: Department | None = None

    @property
    def scope(self) -> Scope:
        """The same for permissions."""
        if self.department is not None:
            return self.department.scope
        return self.cluster.scope if self.cluster is not None else TENANT

    @property
    def key(self) -> str:
        """What tells places apart in the database."""
        if self.department is not None:
            return f"department {self.department.pk}"
        return f"cluster {self.cluster.pk}" if self.cluster is not None else "tenant"


@transaction.atomic
def share_secret(actor: Actor, *, place: Place, kind: str, name: str, fields: Mapping[str, str]) -> SharedSecret:
    """Make one. Raises `InvalidInput`; `Conflict` where the name is taken there."""
    require(actor.user, "credentials:create", place.scope)
    content = checked_content(kind, name, fields)
    secret = SharedSecret(
        place=place.key, cluster=place.cluster, department=place.department, kind=kind,
        name=HUGGING_FACE_NAMES[0] if kind == SecretKind.HUGGING_FACE else name,
        keys=sorted(content), content=encrypt(content), created_by=actor.user.email,
    )  # fmt: skip
    _hold_clusters(secret)
    with unless_taken(_("Resource with this name already exists")):
        secret.save(force_insert=True)
    audit.record(actor, "create", secret, after={"place": place.key, "content": SECRET})
    spread(projects_of(secret))
    return secret


@transaction.atomic
def change_shared_secret(
    actor: Actor, *, secret: SharedSecret, name: str, content: tuple[str, Mapping[str, str]] | None
) -> SharedSecret:
    """Another name, and other content where it is given: the kind and its fields. Raises as `share_secret`; `NotFound`
    where it was deleted meanwhile."""
    require(actor.user, "credentials:update", secret.scope)
    changed = ["name", "updated_at"]
    if content is not None:
        kind, fields = content
        if kind != secret.kind:
            raise InvalidInput.of("kind", _("The secret %(name)s is of another kind") % {"name": name}, secret.kind)
        stored = checked_content(kind, name, fields)
        secret.keys, secret.content = sorted(stored), encrypt(stored)
        changed += ["keys", "content"]
    check_name(name)
    if secret.kind == SecretKind.HUGGING_FACE and name != secret.name:
        raise InvalidInput.of("name", _("The Hugging Face token has a fixed name"), secret.name)
    _hold_clusters(secret)
    if not SharedSecret.objects.filter(pk=secret.pk).exists():
        raise NotFound
    before, secret.name, secret.updated_at = secret.name, name, timezone.now()
    with unless_taken(_("Resource with this name already exists")):
        secret.save(update_fields=changed)
    told = {} if content is None else {"content": SECRET}
    audit.record(actor, "update", secret, before={"name": before}, after={"name": name, **told})
    spread(projects_of(secret))
    return secret


@transaction.atomic
def delete_shared_secret(actor: Actor, *, secret: SharedSecret) -> None:
    """Delete it; its copies leave the clusters with the next reconcile of their projects."""
    require(actor.user, "credentials:delete", secret.scope)
    audit.record(actor, "delete", secret, before={"place": secret.place, "name": secret.name})
    _hold_clusters(secret)
    projects = list(projects_of(secret))
    take_away(secret.copies.all())
    secret.delete()
    spread(projects)


def note_credential(secret: ProjectSecret | SharedSecret, credential: str) -> None:
    """Remember as what REST made it: its keys alone do not say that."""
    secret.credential = credential
    secret.save(update_fields=["credential"])


def _hold_clusters(secret: SharedSecret) -> None:
    """Lock the clusters that it reaches until the transaction ends, as who makes a project does: it has a copy, whoever
    of the two comes first."""
    rows = Cluster.objects.select_for_update().order_by("pk")
    if (cluster := secret.scope.cluster_id) is not None:
        rows = rows.filter(pk=cluster)
    list(rows.values_list("pk", flat=True))


def projects_of(secret: SharedSecret) -> QuerySet[Project]:
    """The projects that it is shared with."""
    rows = Project.objects.filter(deletion_requested_at=None)
    if secret.department_id is not None:
        return rows.filter(department=secret.department_id)
    return rows.filter(cluster=secret.cluster_id) if secret.cluster_id is not None else rows


def spread(projects: Iterable[Project]) -> None:
    """Give these projects the copies that they should have, and make those due whose copies change. Few queries,
    however many projects there are."""
    rows, held = list(projects), defaultdict[int, list[ProjectSecret]](list)
    for secret in ProjectSecret.objects.filter(project__in=rows):
        held[secret.project_id].append(secret)
    shared = sorted(SharedSecret.objects.all(), key=lambda secret: (secret.width, secret.name))
    stale, fresh = list[ProjectSecret](), list[ProjectSecret]()
    for project in rows:
        wanted = _wanted(project, held[project.pk], shared)
        for copy in held[project.pk]:
            if copy.source_id is None:
                continue
            if _is_copy(copy, wanted.get(copy.source_id)):
                del wanted[copy.source_id]
            else:
                stale.append(copy)
        fresh += [_copy(project, secret) for secret in wanted.values()]
    take_away(stale)
    ProjectSecret.objects.bulk_create(fresh, ignore_conflicts=True)  # one that is made meanwhile is the project's own
    _make_due({copy.project_id for copy in fresh})


def take_away(copies: Iterable[ProjectSecret]) -> None:
    """Delete copies; their objects are to leave the cluster, but for those that are written anew."""
    found = list(copies)
    names = {(copy.project_id, name) for copy in found for name in object_names(copy.kind, copy.name)}
    former = [FormerSecret(project_id=project, name=name) for project, name in sorted(names)]
    FormerSecret.objects.bulk_create(former, ignore_conflicts=True)
    ProjectSecret.objects.filter(pk__in=[copy.pk for copy in found]).delete()
    _make_due({copy.project_id for copy in found})


def _wanted(project: Project, held: Iterable[ProjectSecret], shared: Iterable[SharedSecret]) -> dict[int, SharedSecret]:
    """What a project that has `held` should have of `shared`, the nearest first, by id."""
    own = (secret for secret in held if secret.source_id is None)
    taken = {name for secret in own for name in object_names(secret.kind, secret.name)}
    wanted: dict[int, SharedSecret] = {}
    for secret in shared:
        names = set(object_names(secret.kind, secret.name))
        if secret.reaches(project) and not names & taken:
            wanted[secret.pk] = secret
            taken |= names
    return wanted


def _is_copy(copy: ProjectSecret, secret: SharedSecret | None) -> bool:
    return secret is not None and copy.name == secret.name and bytes(copy.content) == bytes(secret.content)


def _copy(project: Project, secret: SharedSecret) -> ProjectSecret:
    return ProjectSecret(
        project=project, source=secret, name=secret.name, kind=secret.kind, keys=secret.keys, content=secret.content,
        created_by=secret.created_by,
    )  # fmt: skip


def _make_due(projects: Collection[int]) -> None:
    poke(Project, projects)
    for pk in projects:
        hint_reconcile_of(Project._meta.label, pk)
