"""Reads for pages and the API: departments and projects with their quota, what queues hold, what others made."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, DecimalField, F, Model, Q, QuerySet, Sum, Value, When

from accounts.models import ScopeType, User
from accounts.permissions import ROLE_LABELS, has_right
from accounts.scopes import visible_rules
from clusters.models import Node
from organizations.models import Department, Project, Quota
from organizations.quota import RESOURCES, UNLIMITED, Total, over, room, total
from organizations.quota_rows import used
from topology.models import NodePool
from topology.selectors import PoolFigures, pool_figures

Owner = TypeVar("Owner", bound=Model)
Viewer = User | AnonymousUser

# Sorts above every amount that is a number.
_ENDLESS = Decimal(10) ** 11


def with_gpu_quota(rows: QuerySet[Owner]) -> QuerySet[Owner]:
    """Adds `total_gpu_quota`: the sum over the pools; where one is unlimited it sorts above every number."""
    amount = Case(
        When(quotas__gpu_deserved=UNLIMITED, then=Value(_ENDLESS)),
        default=F("quotas__gpu_deserved"),
        output_field=DecimalField(max_digits=20, decimal_places=6),
    )
    return rows.annotate(total_gpu_quota=Sum(amount))  # type: ignore[return-value]  # annotated is still ours


def visible_departments(user: User | AnonymousUser) -> QuerySet[Department]:
    """Departments that `user` may read, with what lists need."""
    rows = Department.objects.visible_to(user).select_related("cluster")
    return with_gpu_quota(rows.prefetch_related("quotas__node_pool", "projects"))


def visible_projects(user: User | AnonymousUser) -> QuerySet[Project]:
    """Projects that `user` may read, with what lists need."""
    rows = Project.objects.visible_to(user).select_related("cluster", "department")
    return with_gpu_quota(rows.prefetch_related("quotas__node_pool"))


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one quota, in the unit of people: GPUs, cores, GB. `held` None: not known yet.

    `against`: what is unused (negative: borrowed beyond the quota); None where it does not apply.
    """

    resource: str
    unit: str
    held: Decimal | None
    non_preemptible: Decimal
    asked: Decimal
    deserved: Decimal
    limit: Decimal
    weight: Decimal
    capacity: Decimal | None

    @property
    def waiting(self) -> Decimal:
        """What is asked for beyond what is held."""
        return max(Decimal(0), self.asked - (self.held or Decimal(0)))

    @property
    def borrowed(self) -> Decimal:
        """Held beyond the deserved amount."""
        return over(self.deserved, self.held or Decimal(0))

    @property
    def unused(self) -> Decimal:
        """Deserved and not held; −1 of an unlimited amount."""
        return room(self.deserved, self.held or Decimal(0))


@dataclass(frozen=True, slots=True)
class PoolQuota:
    """One block of the matrix: a node pool with a line for each resource."""

    quota: Quota
    pool: NodePool
    figures: PoolFigures
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the nodes of a pool have, in the unit of quotas."""

    gpu: Decimal
    cpu: Decimal | None
    memory: Decimal | None

    def shown(self, resource: str) -> Decimal | None:
        """In the unit that pages show."""
        amount: Decimal | None = getattr(self, resource)
        return None if amount is None else to_people(resource, amount)


UNITS = {"gpu": (Decimal(1), ""), "cpu": (Decimal(1000), "cores"), "memory": (Decimal(1000), "GB")}


def to_people(resource: str, amount: Decimal) -> Decimal:
    """An amount in the unit that pages show; −1 stays −1."""
    return amount if amount == UNLIMITED else amount / UNITS[resource][0]


def capacities(pools: Iterable[NodePool]) -> dict[int, Capacity]:
    """Capacity by pool id, as far as nodes say theirs; None where none does. One query."""
    by_name = {(pool.cluster_id, pool.shard): pool.pk for pool in pools}
    rows = (
        Node.objects.filter(cluster_id__in={cluster for cluster, _name in by_name})
        .values_list("cluster_id", "node_pool")
        .annotate(gpus=Sum("gpu_capacity"), cpu=Sum("cpu_millicores"), memory=Sum("memory_bytes"))
        .order_by()
    )
    found = dict.fromkeys(by_name.values(), Capacity(Decimal(0), Decimal(0), Decimal(0)))
    for cluster, label, gpus, cpu, memory in rows:
        pk = by_name.get((cluster, label))
        if pk is not None:
            found[pk] = Capacity(
                Decimal(gpus),
                None if cpu is None else Decimal(cpu),
                None if memory is None else Decimal(memory) / 10**6,
            )
    return found


def quota_matrix(owner: Department | Project) -> list[PoolQuota]:
    """The owner's quota on every pool, the default pool first. Five queries."""
    rows = owner.quotas.select_related("node_pool", "node_pool__network_topology", "node_pool__cluster")
    quotas = sorted(rows, key=lambda quota: (not quota.node_pool.is_default, quota.node_pool.name))
    pools = [quota.node_pool for quota in quotas]
    figures, capacity = pool_figures(pools), capacities(pools)
    return [
        PoolQuota(quota, quota.node_pool, figures[quota.node_pool_id], _lines(quota, capacity[quota.node_pool_id]))
        for quota in quotas
    ]


def _lines(quota: Quota, capacity: Capacity) -> tuple[Line, ...]:
    held, firm, asked = used(quota), used(quota, "allocatedNonPreemptible"), used(quota, "requested")

    def line(resource: str) -> Line:
        def shown(amounts: dict[str, Decimal]) -> Decimal:
            return to_people(resource, amounts.get(resource, Decimal(0)))

        return Line(
            resource=resource,
            unit=UNITS[resource][1],
            held=shown(held) if held else None,
            non_preemptible=shown(firm),
            asked=shown(asked),
            deserved=to_people(resource, getattr(quota, f"{resource}_deserved")),
            limit=to_people(resource, getattr(quota, f"{resource}_limit")),
            weight=getattr(quota, f"{resource}_weight"),
            capacity=capacity.shown(resource),
        )

    return tuple(line(resource) for resource in RESOURCES)


@dataclass(frozen=True, slots=True)
class GpuTotals:
    """GPUs over all pools. `held` None: no pool has reported."""

    deserved: Total
    held: Decimal | None
    asked: Decimal | None


def gpu_totals(quotas: Iterable[Quota]) -> GpuTotals:
    """Sums of one owner; pools that have not reported are left out, never counted as 0."""
    rows = list(quotas)
    held = [amounts["gpu"] for quota in rows if (amounts := used(quota))]
    asked = [amounts["gpu"] for quota in rows if (amounts := used(quota, "requested"))]
    return GpuTotals(
        total(quota.gpu_deserved for quota in rows),
        sum(held, Decimal(0)) if held else None,
        sum(asked, Decimal(0)) if asked else None,
    )


@dataclass(frozen=True, slots=True)
class Share:
    """What a department gives out on one pool: GPUs deserved by it and by each of its projects.

    Projects that the viewer may not see are one entry without a project.
    """

    pool: NodePool
    deserved: Decimal
    projects: tuple[tuple[Project | None, Decimal], ...]

    @property
    def given(self) -> Total:
        """Sum over the projects."""
        return total(amount for _project, amount in self.projects)

    @property
    def left(self) -> Decimal:
        """What is left to give; −1 where the department's own amount is unlimited."""
        return room(self.deserved, self.given.amount)

    @property
    def excess(self) -> Decimal:
        """By how much the projects' sum exceeds the department's amount."""
        return over(self.deserved, self.given.amount)


def department_shares(department: Department, visible: Collection[int]) -> list[Share]:
    """GPUs that the department's projects deserve, by pool; pools on which nobody has anything are left out.

    `visible`: ids of the projects that may be named.
    """
    own = {quota.node_pool_id: quota for quota in department.quotas.select_related("node_pool")}
    rows = Quota.objects.filter(project__department=department).select_related("project", "node_pool")
    named: dict[int, list[tuple[Project | None, Decimal]]] = {}
    hidden: dict[int, list[Decimal]] = {}
    for quota in rows.exclude(gpu_deserved=0).order_by("project__name"):
        if quota.project_id in visible:
            named.setdefault(quota.node_pool_id, []).append((quota.project, quota.gpu_deserved))
        else:
            hidden.setdefault(quota.node_pool_id, []).append(quota.gpu_deserved)
    for pk, amounts in hidden.items():
        named.setdefault(pk, []).append((None, total(amounts).value))
    return [
        Share(quota.node_pool, quota.gpu_deserved, tuple(named.get(pk, ())))
        for pk, quota in sorted(own.items())
        if quota.gpu_deserved != 0 or pk in named
    ]


@dataclass(frozen=True, slots=True)
class Member:
    """Who has a role on the object itself, or from further up (`inherited`)."""

    name: str
    role: Any
    inherited: str


def members(user: Viewer, owner: Department | Project) -> list[Member] | None:
    """People with a role on the project or department, those of the department included, of the access rules that
    `user` may read; None where these are none of their business."""
    if not has_right(user, "access_rules:read", owner.scope):
        return None
    project = owner if isinstance(owner, Project) else None
    department_id = project.department_id if project else owner.pk
    of = Q(scope_type=ScopeType.DEPARTMENT, scope_id=str(department_id))
    if project is not None:
        of |= Q(scope_type=ScopeType.PROJECT, scope_id=str(project.pk))
    own = ScopeType.PROJECT if project else ScopeType.DEPARTMENT
    return [
        Member(
            rule.user.email if rule.user else rule.group,
            ROLE_LABELS.get(rule.role, rule.role),
            "" if rule.scope_type == own else rule.scope_type,
        )
        for rule in visible_rules(user).filter(of).order_by("user__email", "role")
    ]


def pool_shares(user: Viewer, pool: NodePool) -> list[dict[str, Any]]:
    """Quotas given on one pool: departments with those of their projects that `user` may see."""
    seen = Q(project=None) | Q(project__in=Project.objects.visible_to(user))
    rows = Quota.objects.filter(seen, node_pool=pool).select_related("department", "project__department")
    departments: dict[int, dict[str, Any]] = {}
    for quota in rows:
        if quota.department is not None:
            entry = departments.setdefault(quota.department.pk, {"projects": []})
            entry |= {"row": quota.department, "quota": quota}
        elif quota.project is not None:
            entry = departments.setdefault(quota.project.department_id, {"projects": []})
            entry["projects"].append({"row": quota.project, "quota": quota})
    return sorted((d for d in departments.values() if "row" in d), key=lambda d: str(d["row"].name))
