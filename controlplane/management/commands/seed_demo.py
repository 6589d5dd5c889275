"""`manage.py seed_demo`: the example organisation on a cluster, through the services that pages and API use."""

import argparse
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import ScopeType, User
from accounts.permissions import RESEARCHER
from accounts.scopes import Target
from accounts.services import grant
from clusters.models import Cluster
from controlplane import demo
from organizations.models import Department, Project
from organizations.services import ProjectInput, QuotaInput, create_department, create_project
from topology.models import NetworkTopology, NodePool
from topology.services import create_node_pool, create_topology, update_node_pool
from workloads.models import Workload
from workloads.services import submit_workload


class Command(BaseCommand):
    help = "Make example departments, projects, a topology, a node pool and workloads; what is there stays as it is."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--actor", required=True, help="e-mail of the administrator in whose name it is done")
        parser.add_argument("--cluster", required=True, help="name of the cluster")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email=options["actor"]).first()
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        if user is None or cluster is None:
            raise CommandError("There is no such user or no such cluster.")
        if Project.objects.filter(cluster=cluster).exists():
            return
        actor = Actor(user, "command")
        topology = create_topology(actor, cluster=cluster, name=demo.TOPOLOGY, levels=list(demo.LEVELS))
        pools = _pools(actor, cluster, topology)
        departments = _departments(actor, cluster, pools)
        projects = {each.name: _project(actor, departments[each.department], each, pools) for each in demo.PROJECTS}
        people = {person.name: _person(actor, person, projects[person.project]) for person in demo.PEOPLE}
        for graph in demo.GRAPHS:
            _submit(people[graph.owner], projects[graph.project], graph, pools)


def _pools(actor: Actor, cluster: Cluster, topology: NetworkTopology) -> dict[str, NodePool]:
    default = NodePool.objects.get(cluster=cluster, name=demo.DEFAULT_POOL)
    key, value = demo.TRAINING_LABEL
    return {
        demo.DEFAULT_POOL: update_node_pool(actor, pool=default, changes={"network_topology": topology}),
        demo.TRAINING_POOL: create_node_pool(
            actor,
            cluster=cluster,
            name=demo.TRAINING_POOL,
            settings={"label_key": key, "label_value": value, "network_topology": topology},
        ),
    }


def _departments(actor: Actor, cluster: Cluster, pools: dict[str, NodePool]) -> dict[str, Department]:
    made = {}
    for name, description in demo.DEPARTMENTS.items():
        deserved = {
            pool: sum(each.deserved for each in demo.PROJECTS if (each.department, each.pool) == (name, pool))
            for pool in pools
        }
        quotas = [QuotaInput(pools[pool], {"gpu_deserved": Decimal(gpus)}) for pool, gpus in deserved.items()]
        made[name] = create_department(actor, cluster=cluster, name=name, description=description, quotas=quotas)
    return made


def _project(actor: Actor, department: Department, wanted: demo.Project, pools: dict[str, NodePool]) -> Project:
    amounts = {"gpu_deserved": Decimal(wanted.deserved), "gpu_limit": Decimal(wanted.limit)}
    quotas = [QuotaInput(pools[wanted.pool], amounts)]
    given = ProjectInput(name=wanted.name, description=wanted.description, quotas=quotas)
    return create_project(actor, department=department, given=given)


def _person(actor: Actor, person: demo.Person, project: Project) -> User:
    """Somebody who cannot sign in until an administrator sets a password."""
    with transaction.atomic():
        user = User.objects.create_user(f"{person.name}@example.org", name=person.name)
        record(actor, "create", user, after={"email": user.email, "name": user.name})
    target = Target(ScopeType.PROJECT, str(project.pk), project.scope, project.name)
    grant(actor, subject=user, role=RESEARCHER, target=target)
    return user


def _submit(owner: User, project: Project, graph: demo.Graph, pools: dict[str, NodePool]) -> Workload:
    pool = next(each.pool for each in demo.PROJECTS if each.name == graph.project)
    return submit_workload(
        Actor(owner, "command"),
        project=project,
        source=demo.source(graph),
        node_pool=pools[pool],
        stopped=graph.stopped,
    )
