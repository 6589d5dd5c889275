"""Where nothing changes, nothing is shown."""

import pytest
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from organizations.models import Department, Project
from tests.organizations.shard_rows import add_gang, add_nodes, add_queue
from topology.impact import impact_of
from topology.impact_words import impact_items
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def test_nothing_changed_is_empty(
    admin: User, cluster: Cluster, department: Department, project: Project, default_pool: NodePool
) -> None:
    add_nodes(cluster, 2)
    add_queue(cluster, department, default_pool, gpus=16)
    add_queue(cluster, project, default_pool, gpus=8)
    add_gang(cluster, "assistant", "runs", 8, on=("n0",))
    add_gang(cluster, "assistant", "waits", 16)

    found = impact_of(admin, cluster, {"": lambda snapshot: snapshot}, now=timezone.now())

    assert found["isEmpty"]
    assert impact_items(found) == []


def test_a_cluster_that_was_never_heard_has_no_effects(
    admin: User, cluster: Cluster, default_pool: NodePool, project: Project
) -> None:
    assert impact_of(admin, cluster, {"": lambda snapshot: snapshot}, now=timezone.now())["isEmpty"]
