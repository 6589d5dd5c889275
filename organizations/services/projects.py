"""Projects: make, change, delete. A project has a namespace and, per node pool, a queue below its department's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import require
from clusters.holding import hold_cluster
from core.desired import change_spec, hold, request_deletion
from core.errors import Conflict, InvalidInput
from core.hints import hint_reconcile
from organizations.models import Department, Project
from organizations.rules import NAMESPACE_PREFIX, description_faults, name_faults, namespace_faults
from organizations.services.quotas import QuotaInput, write_quotas
from organizations.services.shared_secrets import spread
from topology.impact import kept
from topology.protection import protection_of


@dataclass(frozen=True, slots=True)
class ProjectInput:
    """A new project. Without `namespace` it is `runai-<name>`; one that exists is used only if `adopts_namespace`."""

    name: str
    description: str = ""
    namespace: str = ""
    adopts_namespace: bool = False
    quotas: Sequence[QuotaInput] = ()


@transaction.atomic
def create_project(
    actor: Actor, *, department: Department, given: ProjectInput, impact: Mapping[str, Any] | None = None
) -> Project:
    """A new project in `department`; the audit keeps `impact`. Raises `InvalidInput`, `Conflict` for a taken name or
    namespace."""
    project = Project(
        cluster=department.cluster,
        department=department,
        name=given.name,
        description=given.description,
        namespace=given.namespace or f"{NAMESPACE_PREFIX}{given.name}",
        adopts_namespace=given.adopts_namespace and bool(given.namespace),
        created_by=actor.user.email,
    )
    require(actor.user, "project:create", department.scope)
    faults = [*name_faults(given.name), *description_faults(given.description)]
    if given.namespace:
        faults += namespace_faults(given.namespace)
    if faults:
        raise InvalidInput(faults)
    hold_cluster(department.cluster)
    if not hold(department):
        raise Conflict(_("Department %(name)s is being deleted.") % {"name": department.name})
    _save_new(project)
    spread([project])
    _before, after = write_quotas(project, given.quotas)
    told = {
        "name": project.name,
        "department": department.name,
        "namespace": project.namespace,
        "description": project.description,
        "resources": after,
    }
    audit.record(actor, "create", project, after=kept(told, impact))
    hint_reconcile(project)
    return project


def _save_new(project: Project) -> None:
    try:
        with transaction.atomic():
            project.save(force_insert=True)
    except IntegrityError as error:
        same = Project.objects.filter(cluster=project.cluster, name=project.name).first()
        if same is None:
            message = _("The namespace %(name)s belongs to another project") % {"name": project.namespace}
            raise Conflict(message, objects=[project.namespace]) from error
        if same.is_being_deleted:
            message = _("A project %(name)s is still being deleted.") % {"name": project.name}
            raise Conflict(message, objects=[project.name]) from error
        raise Conflict(_("Resource with this name already exists"), objects=[project.name]) from error


@transaction.atomic
def update_project(
    actor: Actor,
    *,
    project: Project,
    description: str | None = None,
    quotas: Sequence[QuotaInput] = (),
    expected_generation: int | None = None,
    impact: Mapping[str, Any] | None = None,
) -> Project:
    """Change the description and quota; None and absent amounts leave what is there. The audit keeps `impact`."""
    require(actor.user, "project:update", project.scope)
    if project.is_being_deleted:
        raise Conflict(_("Project %(name)s is being deleted.") % {"name": project.name})
    faults = description_faults(description or "")
    if faults:
        raise InvalidInput(faults)
    before, after = write_quotas(project, quotas)
    spec = {} if description in (None, project.description) else {"description": description}
    if not (spec or after):
        return project
    old = {"description": project.description} if spec else {}
    changed = change_spec(project, {**spec, "phase": "Updating"}, expected_generation=expected_generation)
    written = kept({**spec, "resources": after}, impact)
    audit.record(actor, "update", changed, before={**old, "resources": before}, after=written)
    return changed


@transaction.atomic
def delete_project(actor: Actor, *, project: Project, impact: Mapping[str, Any] | None = None) -> Project:
    """Ask for deletion of the project, its queues, secrets and its namespace unless that was adopted.

    Raises `Conflict` naming the workloads that are in it.
    """
    require(actor.user, "project:delete", project.scope)
    hold(project)
    if workloads := protection_of(project, actor.user):
        raise Conflict(
            _("Project %(name)s has workloads: %(workloads)s. Delete them first.")
            % {"name": project.name, "workloads": workloads.names},
            objects=workloads.objects,
        )
    if not project.is_being_deleted:
        before = {"name": project.name, "namespace": project.namespace}
        audit.record(actor, "delete", project, before=before, after=kept({}, impact) or None)
    return request_deletion(project)
