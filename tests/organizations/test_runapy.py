"""The official Run:ai client, unmodified, against the console over HTTP: topologies, pools, departments, projects."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import AccessKey
from accounts.permissions import ADMINISTRATOR
from accounts.tokens import new_secret
from tests.conftest import make_user
from topology.services import ensure_default_pool

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def client(live_server: Any, transactional_db: None) -> Iterator[Any]:
    from runai.api_client import ApiClient
    from runai.configuration import Configuration
    from runai.runai_client import RunaiClient

    secret, stored = new_secret()
    AccessKey.objects.create(
        client_id="ci-key", secret_hash=stored, name="ci", user=make_user("pipeline", ADMINISTRATOR)
    )
    configuration = Configuration(client_id="ci-key", client_secret=secret, runai_base_url=live_server.url)
    configuration.retry_enabled = False
    with ApiClient(configuration) as api:
        yield RunaiClient(api)


def test_the_admins_way_from_a_topology_to_a_projects_quota(client: Any) -> None:
    from runai import models
    from runai.exceptions import ConflictException

    from clusters.models import Cluster

    cluster = Cluster.objects.create(name="cluster-a", server="http://127.0.0.1:1", credential=b"", phase="Connected")
    ensure_default_pool(cluster)
    organizations, cluster_id = client.organizations, str(cluster.pk)

    topology = organizations.network_topologies.create_network_topology(
        models.NetworkTopologyCreateRequest(
            name="dc", clusterId=cluster_id, levels=["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        )
    ).data
    pool = organizations.node_pools.create_nodepool(
        models.NodepoolCreateFields(
            name="h200", labelKey="pool", labelValue="h200", clusterId=cluster_id, networkTopologyId=topology["id"]
        )
    ).data
    resources = [models.ResourcesNullable(nodePool={"id": pool["id"]}, gpu={"deserved": 8, "limit": -1})]
    department = organizations.departments.create_department(
        models.DepartmentCreationRequest(name="research", clusterId=cluster_id, resources=resources)
    ).data
    project = organizations.projects.create_project(
        models.ProjectCreationRequest(
            name="assistant", clusterId=cluster_id, parentId=department["id"], resources=resources
        )
    ).data
    listed = organizations.projects.get_projects(filter_by=["parentName==research", "name=@assist"]).data
    with pytest.raises(ConflictException):
        organizations.network_topologies.delete_network_topology(topology["id"])

    assert pool["networkTopologyName"] == "dc"
    assert [r["gpu"]["deserved"] for r in project["resources"] if r["nodePool"]["name"] == "h200"] == [8]
    assert [p["name"] for p in listed["projects"]] == ["assistant"]
    assert organizations.node_pools.count_nodepools().data == {"count": 2}
    assert organizations.projects.delete_project(project["id"]).status_code == 202
