"""The official Run:ai client, unmodified, over HTTP: every group, synchronous and threaded. Each answer is held
against Run:ai's document by the suite's middleware."""

import asyncio
from typing import Any

import pytest

from accounts.models import AccessKey, User
from accounts.permissions import ADMINISTRATOR
from accounts.tokens import new_secret
from organizations.services import ensure_default_department
from tests.api.conftest import MANIFEST
from tests.api.runapy_job import Job, do_everything
from tests.conftest import make_user
from topology.services import ensure_default_pool

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def configuration(live_server: Any, transactional_db: None) -> Any:
    from runai.configuration import Configuration

    secret, stored = new_secret()
    AccessKey.objects.create(
        client_id="ci-key", secret_hash=stored, name="ci", user=make_user("pipeline", ADMINISTRATOR)
    )
    found = Configuration(client_id="ci-key", client_secret=secret, runai_base_url=live_server.url)
    found.retry_enabled = False
    return found


@pytest.fixture
def cluster_id(transactional_db: None) -> str:
    from clusters.models import Cluster

    cluster = Cluster.objects.create(name="cluster-a", server="http://127.0.0.1:1", credential=b"", phase="Connected")
    ensure_default_pool(cluster)
    ensure_default_department(cluster)
    return str(cluster.pk)


def test_the_synchronous_client_does_the_whole_job(configuration: Any, cluster_id: str) -> None:
    from runai.api_client import ApiClient

    with ApiClient(configuration) as client:
        do_everything(Job(client, cluster_id, MANIFEST, lambda answer: answer.data, "a"))


def test_the_threaded_client_does_the_whole_job(configuration: Any, cluster_id: str) -> None:
    from runai.api_client import ThreadedApiClient

    with ThreadedApiClient(configuration) as client:
        do_everything(Job(client, cluster_id, MANIFEST, lambda answer: answer.get(30).data, "b"))


def test_the_client_shows_the_identity_provider_and_changes_the_password_of_who_asks(
    configuration: Any, settings: Any
) -> None:
    from runai.api import IdpsApi, UsersApi
    from runai.api_client import ApiClient

    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = "https://id.example.org", "muster"
    person = User.objects.get(email="pipeline@example.org")
    person.set_password("an old password of 2026")
    person.save()

    with ApiClient(configuration) as client:
        idps = IdpsApi(client)
        listed, one, mappers = idps.get_idps(), idps.get_idp("oidc"), idps.get_idp_mappers("oidc")
        change = {"currentPassword": "an old password of 2026", "newPassword": "a new password of 2026"}
        changed = UsersApi(client).change_user_password(change)

    person.refresh_from_db()
    assert (listed.data, mappers.data) == ([one.data], one.data["mappers"])
    assert changed.status_code == 200
    assert person.check_password("a new password of 2026")


def test_the_asynchronous_client_writes_and_lists_while_its_token_holds(configuration: Any, cluster_id: str) -> None:
    from runai.api.network_topologies_api import NetworkTopologiesApi
    from runai.api_client import AsyncApiClient

    async def work() -> tuple[Any, Any, Any]:
        async with AsyncApiClient(configuration) as client:
            topologies = NetworkTopologiesApi(client)
            # It sends a JSON string that holds the JSON document (runai.md §9.5).
            body = {"name": "dc", "clusterId": cluster_id, "levels": ["kubernetes.io/hostname"]}
            made = await topologies.create_network_topology(body)
            listed = await topologies.get_network_topologies(filter_by=["name==dc"])
            return made, listed, await topologies.delete_network_topology(made.data["id"])

    made, listed, deleted = asyncio.run(work())

    assert made.status_code == 201
    assert [row["id"] for row in listed.data["networkTopologies"]] == [made.data["id"]]
    assert deleted.status_code in (202, 204)
