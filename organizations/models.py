"""Departments, projects, and their quota per node pool."""

from decimal import Decimal
from typing import Self

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.permissions import Scope, ScopedQuerySet, reach
from clusters.models import Cluster
from core.models import DesiredState, TimestampedModel
from topology.models import NodePool

UNLIMITED = Decimal(-1)


class DepartmentQuerySet(ScopedQuerySet["Department"]):
    right = "department:read"
    department_path = "pk"


class ProjectQuerySet(ScopedQuerySet["Project"]):
    right = "project:read"
    department_path = "department_id"
    project_path = "pk"


class Department(DesiredState):
    """A group of projects; one parent queue per node pool in the cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="departments")
    name = models.CharField(_("name"), max_length=40)
    description = models.CharField(_("description"), max_length=500, blank=True)
    created_by = models.CharField(max_length=254, blank=True)

    objects = DepartmentQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="department_name_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id, self.pk)


class Project(DesiredState):
    """Quota and a namespace; one leaf queue per node pool, below the department's queue of that pool."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="projects")
    department = models.ForeignKey(Department, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(_("name"), max_length=40)
    description = models.CharField(_("description"), max_length=500, blank=True)
    namespace = models.CharField(_("namespace"), max_length=63)
    # The namespace existed and was asked for: it is labelled, used, and stays when the project goes.
    adopts_namespace = models.BooleanField(default=False)
    created_by = models.CharField(max_length=254, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="project_name_once"),
            models.UniqueConstraint(fields=("cluster", "namespace"), name="project_namespace_once"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return Scope(self.cluster_id, self.department_id, self.pk)


def _amount(**options: object) -> "models.DecimalField[Decimal, Decimal]":
    return models.DecimalField(max_digits=18, decimal_places=6, **options)  # type: ignore[arg-type]  # Django checks them


class Quota(TimestampedModel):
    """What one department or one project has on one node pool; it becomes one KAI Queue.

    GPUs in devices (fractions allowed), CPU in millicores, memory in MB (10^6 bytes). −1 is unlimited, 0 is a real
    bound: nothing. Weight: share of unused resources, 0 = none. Priority: higher first, KAI's default is 100.
    """

    department = models.ForeignKey(Department, null=True, on_delete=models.CASCADE, related_name="quotas")
    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="quotas")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="quotas")
    # A pool goes only after its queues have left the cluster (topology.reconcile.node_pools).
    node_pool = models.ForeignKey(NodePool, on_delete=models.CASCADE, related_name="quotas")
    queue_name = models.CharField(max_length=63)
    gpu_deserved = _amount(default=0)
    gpu_limit = _amount(default=-1)
    gpu_weight = _amount(default=1)
    cpu_deserved = _amount(default=-1)
    cpu_limit = _amount(default=-1)
    cpu_weight = _amount(default=1)
    memory_deserved = _amount(default=-1)
    memory_limit = _amount(default=-1)
    memory_weight = _amount(default=1)
    priority = models.IntegerField(default=100)
    # Observed: the queue's status in the units above, as text: {"allocated": {"gpu": "8", "cpu": …, "memory": …},
    # "allocatedNonPreemptible": …, "requested": …}; empty: not seen yet.
    usage = models.JSONField(default=dict, editable=False)
    usage_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(department=None, project__isnull=False)
                | models.Q(department__isnull=False, project=None),
                name="quota_of_department_or_project",
            ),
            models.UniqueConstraint(fields=("department", "node_pool"), name="quota_once_per_department_and_pool"),
            models.UniqueConstraint(fields=("project", "node_pool"), name="quota_once_per_project_and_pool"),
            models.UniqueConstraint(fields=("cluster", "queue_name"), name="queue_name_once_per_cluster"),
            *(
                models.CheckConstraint(
                    condition=models.Q(**{f"{resource}_{bound}__gte": 0}) | models.Q(**{f"{resource}_{bound}": -1}),
                    name=f"quota_{resource}_{bound}_unlimited_or_not_negative",
                )
                for resource in ("gpu", "cpu", "memory")
                for bound in ("deserved", "limit")
            ),
        )

    def __str__(self) -> str:
        return self.queue_name

    @property
    def owner(self) -> "Department | Project":
        """The department or project that it belongs to."""
        return self.project or self.department  # type: ignore[return-value]  # a constraint: one of them


class ProjectSecret(TimestampedModel):
    """A secret of a project's namespace: write-only, encrypted at rest, shown only by name and key."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets")
    # What it is a copy of; none of the project's own.
    source = models.ForeignKey("SharedSecret", on_delete=models.CASCADE, null=True, related_name="copies")
    name = models.CharField(max_length=253)
    kind = models.CharField(max_length=16)  # hugging-face, registry, opaque
    credential = models.CharField(max_length=24, blank=True)  # as what REST made it; else its keys say it
    keys = models.JSONField(default=list)
    content = models.BinaryField()  # encrypted, see organizations.secrets
    created_by = models.CharField(max_length=254, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="project_secret_name_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        return self.project.scope


class SharedSecretQuerySet(models.QuerySet["SharedSecret"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that reach a scope in which the asker may read credentials."""
        where = reach(user, "credentials:read")
        if where.everywhere:
            return self
        if where.is_empty:
            return self.none()
        departments = Department.objects.filter(
            models.Q(cluster__in=where.clusters)
            | models.Q(pk__in=where.departments)
            | models.Q(projects__in=where.projects)
        )
        inside = models.Q(department__in=departments) | models.Q(department=None, cluster__in=where.touched_clusters)
        return self.filter(inside | models.Q(place="tenant"))


class SharedSecret(TimestampedModel):
    """A secret of a department, a cluster or the whole installation, of which the projects there have copies."""

    place = models.CharField(max_length=60)  # tenant, `cluster <id>`, `department <id>`
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, null=True, related_name="shared_secrets")
    department = models.ForeignKey(Department, on_delete=models.CASCADE, null=True, related_name="shared_secrets")
    name = models.CharField(max_length=253)
    kind = models.CharField(max_length=16)
    credential = models.CharField(max_length=24, blank=True)  # as what REST made it
    keys = models.JSONField(default=list)
    content = models.BinaryField()
    created_by = models.CharField(max_length=254, blank=True)

    objects = SharedSecretQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("place", "name"), name="shared_secret_name_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        """Where it lies, for permissions."""
        if self.department is not None:
            return self.department.scope
        return Scope(self.cluster_id)

    @property
    def width(self) -> int:
        """How far it reaches: 0 a department, 1 a cluster, 2 everywhere."""
        return 0 if self.department_id is not None else 1 if self.cluster_id is not None else 2

    def reaches(self, project: Project) -> bool:
        """Whether it is shared with `project`."""
        if self.department_id is not None:
            return self.department_id == project.department_id
        return self.cluster_id in (None, project.cluster_id)


class FormerSecret(models.Model):
    """The name of a Secret object that a project no longer wants, until its reconcile has seen it gone: by these names
    it finds what to delete, and needs no right to list secrets."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="former_secrets")
    name = models.CharField(max_length=253)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="former_secret_once"),)

    def __str__(self) -> str:
        return self.name


class FairShareRecord(models.Model):
    """How one pool was divided among its queues at one moment, packed (see `organizations.fair_share_history`)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="fair_share_records")
    pool = models.CharField(max_length=63, blank=True)  # value of the pool's label, "" for the default pool
    at = models.DateTimeField()
    content = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "pool", "at"), name="fair_share_record_once"),)

    def __str__(self) -> str:
        return f"{self.pool or 'default'} at {self.at:%Y-%m-%d %H:%M}"
