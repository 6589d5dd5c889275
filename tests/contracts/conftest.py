"""The cast of the contracts: one of everything that has an id, all of it in one department."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from accounts.models import AuditEntry, User
from accounts.services import create_access_key, create_service_account
from clusters.models import Node
from metrics.reports import ReportInput, create_report
from organizations.api.credentials_wire import credential_id
from organizations.services import put_secret
from topology.models import NetworkTopology
from workloads import document as documents
from workloads.blueprints import blueprint
from workloads.models import Workload


@pytest.fixture
def cast(cluster, default_pool, department, project, admin, actor):
    node = Node.objects.create(
        cluster=cluster,
        uid="0f6d3f4e-0000-4000-8000-00000000000a",
        name="gpu-a",
        resource_version="1",
        created_at=timezone.now(),
        ready="True",
    )
    topology = NetworkTopology.objects.create(cluster=cluster, name="dc", levels=["kubernetes.io/hostname"])
    workload = Workload.objects.create(
        project=project,
        cluster=cluster,
        node_pool=default_pool,
        name="qwen",
        source=blueprint("vllm-aggregated"),
        manifest=documents.load(blueprint("vllm-aggregated")),
        phase="Running",
    )
    account, _key, _secret = create_service_account(actor(admin), name="robot")
    own, _secret = create_access_key(actor(admin), name="laptop")
    report = create_report(actor(admin), given=ReportInput("usage", timezone.now() - timedelta(days=1), timezone.now()))
    secret = put_secret(actor(admin), project=project, kind="opaque", name="mine", fields={"key": "value"})
    AuditEntry.objects.all().delete()
    return {
        "users": User.objects.create_user("somebody@example.org"),
        "reports": report,
        "secrets": secret,
        "credentials": SimpleNamespace(pk=credential_id(secret)),
        "service-accounts": account,
        "apps": account,
        "access-keys": own,
        "user-applications": own,
        "access-rules": admin.access_rules.get(),
        "clusters": cluster,
        "nodes": node,
        "network-topologies": topology,
        "node-pools": default_pool,
        "departments": department,
        "projects": project,
        "workloads": workload,
    }
