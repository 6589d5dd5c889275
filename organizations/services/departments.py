"""Departments: make, change, delete. One named `default` exists in every cluster."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import require
from clusters.holding import hold_cluster
from clusters.models import Cluster
from core.desired import change_spec, hold, request_deletion
from core.errors import Conflict, InvalidInput
from core.hints import hint_reconcile
from organizations.models import Department, Quota
from organizations.quota import UNLIMITED
from organizations.quota_rows import ensure_quota_rows
from organizations.rules import description_faults, name_faults
from organizations.services.quotas import QuotaInput, write_quotas
from topology.impact import kept
from topology.protection import protection_of
from topology.services import ensure_default_pool

DEFAULT_DEPARTMENT = "default"


@transaction.atomic
def create_department(
    actor: Actor, *, cluster: Cluster, name: str, description: str = "", quotas: Sequence[QuotaInput] = ()
) -> Department:
    """A new department with a quota row on every pool. Raises `InvalidInput`, `Conflict` for a taken name."""
    department = Department(cluster=cluster, name=name, description=description, created_by=actor.user.email)
    require(actor.user, "department:create", department.scope)
    faults = [*name_faults(name), *description_faults(description)]
    if faults:
        raise InvalidInput(faults)
    hold_cluster(cluster)
    ensure_default_pool(cluster)
    try:
        with transaction.atomic():
            department.save(force_insert=True)
    except IntegrityError as error:
        raise _taken(cluster, name) from error
    _before, after = write_quotas(department, quotas)
    audit.record(actor, "create", department, after={"name": name, "description": description, "resources": after})
    hint_reconcile(department)
    return department


def _taken(cluster: Cluster, name: str) -> Conflict:
    there = Department.objects.filter(cluster=cluster, name=name).first()
    if there is not None and there.is_being_deleted:
        return Conflict(_("A department %(name)s is still being deleted.") % {"name": name}, objects=[name])
    return Conflict(_("Resource with this name already exists"), objects=[name])


@transaction.atomic
def update_department(
    actor: Actor,
    *,
    department: Department,
    description: str | None = None,
    quotas: Sequence[QuotaInput] = (),
    expected_generation: int | None = None,
    impact: Mapping[str, Any] | None = None,
) -> Department:
    """Change the description and quota; None and absent amounts leave what is there. The audit keeps `impact`."""
    require(actor.user, "department:update", department.scope)
    if department.is_being_deleted:
        raise Conflict(_("Department %(name)s is being deleted.") % {"name": department.name})
    faults = description_faults(description or "")
    if faults:
        raise InvalidInput(faults)
    before, after = write_quotas(department, quotas)
    spec = {} if description in (None, department.description) else {"description": description}
    if not (spec or after):
        return department
    old = {"description": department.description} if spec else {}
    changed = change_spec(department, {**spec, "phase": "Updating"}, expected_generation=expected_generation)
    written = kept({**spec, "resources": after}, impact)
    audit.record(actor, "update", changed, before={**old, "resources": before}, after=written)
    return changed


@transaction.atomic
def delete_department(actor: Actor, *, department: Department, impact: Mapping[str, Any] | None = None) -> Department:
    """Ask for deletion. Raises `Conflict` naming its projects, or for the department `default`."""
    require(actor.user, "department:delete", department.scope)
    if department.name == DEFAULT_DEPARTMENT:
        raise Conflict(_("The department “default” cannot be deleted."), objects=[department.name])
    hold(department)
    if projects := protection_of(department, actor.user):
        raise Conflict(
            _("Department %(name)s has projects: %(projects)s. Delete them first.")
            % {"name": department.name, "projects": projects.names},
            objects=projects.objects,
        )
    if not department.is_being_deleted:
        audit.record(actor, "delete", department, before={"name": department.name}, after=kept({}, impact) or None)
    return request_deletion(department)


@transaction.atomic
def ensure_default_department(cluster: Cluster) -> Department:
    """The cluster's department `default`, made where it is missing; on the default pool it bounds nothing."""
    department, made = Department.objects.get_or_create(cluster=cluster, name=DEFAULT_DEPARTMENT)
    if made:
        pool = ensure_default_pool(cluster)
        ensure_quota_rows(department)
        Quota.objects.filter(department=department, node_pool=pool).update(gpu_deserved=Decimal(UNLIMITED))
        hint_reconcile(department)
    return department
