"""The official Run:ai client, unmodified, against the running product: every group, synchronous, threaded and
asynchronous; what several writers at once do with one key; and waits that their clients leave."""

import asyncio
import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.api_waiting import LONGEST_WAIT, MOST_WAITING
from tests.api.runapy_job import Job, do_everything
from tests.stack.installation import EMAIL, PASSWORD, Muster, wait_until
from workloads.blueprints import blueprint

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def key(muster: Muster) -> Any:
    return muster.request("POST", "/api/v1/access-keys", {"name": "pipeline"}).body


def configuration(muster: Muster, key: Any) -> Any:
    from runai.configuration import Configuration

    return Configuration(client_id=key["clientId"], client_secret=key["clientSecret"], runai_base_url=muster.url)


def cluster_id(muster: Muster) -> str:
    return str(muster.request("GET", "/api/v1/clusters").body[0]["uuid"])


def test_the_synchronous_client_does_the_whole_job(muster: Muster, key: Any) -> None:
    from runai.api_client import ApiClient

    with ApiClient(configuration(muster, key)) as client:
        do_everything(Job(client, cluster_id(muster), blueprint("vllm-aggregated"), lambda answer: answer.data, "a"))


def test_the_threaded_client_does_the_whole_job(muster: Muster, key: Any) -> None:
    from runai.api_client import ThreadedApiClient

    with ThreadedApiClient(configuration(muster, key)) as client:
        do_everything(
            Job(client, cluster_id(muster), blueprint("vllm-aggregated"), lambda answer: answer.get(60).data, "b")
        )


def test_the_asynchronous_client_writes_lists_and_deletes_while_its_token_holds(muster: Muster, key: Any) -> None:
    """Its own defects (runai.md 9.5): a body is a JSON string that holds the JSON document, which Muster reads; within
    60 s of the token's end it raises AttributeError before it sends anything, which no server can mend."""
    from runai.api.network_topologies_api import NetworkTopologiesApi
    from runai.api_client import AsyncApiClient

    async def work() -> tuple[Any, Any, Any]:
        async with AsyncApiClient(configuration(muster, key)) as client:
            topologies = NetworkTopologiesApi(client)
            body = {"name": "dc-c", "clusterId": cluster_id(muster), "levels": ["kubernetes.io/hostname"]}
            made = await topologies.create_network_topology(body)
            listed = await topologies.get_network_topologies(filter_by=["name==dc-c"])
            return made, listed, await topologies.delete_network_topology(made.data["id"])

    with ThreadPoolExecutor(1) as pool:  # a browser of another test may have its loop in this thread
        made, listed, deleted = pool.submit(lambda: asyncio.run(work())).result()

    assert made.status_code == 201
    assert [row["id"] for row in listed.data["networkTopologies"]] == [made.data["id"]]
    assert deleted.status_code in (202, 204)
    wait_until(lambda: gone(muster, made.data["id"]), "the topology to go")


def gone(muster: Muster, id_: str) -> bool:
    return muster.request("GET", f"/api/v1/network-topologies/{id_}").status == 404


def test_of_many_posts_with_one_key_one_is_run(muster: Muster) -> None:
    grant = {"grantType": "password", "username": EMAIL, "password": PASSWORD}
    token = muster.request("POST", "/api/v1/token", grant).body["accessToken"]
    body = json.dumps({"name": "once", "clusterId": cluster_id(muster)})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": "build-1"}
    statuses, start = list[int](), threading.Barrier(6)

    def send() -> None:
        start.wait()
        connection = http.client.HTTPConnection("127.0.0.1", muster.port, timeout=30)
        connection.request("POST", "/api/v1/org-unit/departments", body, headers)
        statuses.append(connection.getresponse().status)
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    named = muster.request("GET", "/api/v1/org-unit/departments/count?filterBy=name==once").body

    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert named == {"count": 1}


def test_waits_that_were_left_keep_no_place_from_others(muster: Muster) -> None:
    """As many as there are places, against the real server; each would last five minutes."""
    grant = {"grantType": "password", "username": EMAIL, "password": PASSWORD}
    headers = {"Authorization": f"Bearer {muster.request('POST', '/api/v1/token', grant).body['accessToken']}"}
    path = f"/api/v1/clusters/{cluster_id(muster)}/wait?for=phase=Never&timeout="
    waiting = [http.client.HTTPConnection("127.0.0.1", muster.port, timeout=30) for _ in range(MOST_WAITING)]
    for connection in waiting:
        connection.request("GET", f"{path}{LONGEST_WAIT}", headers=headers)
    wait_until(lambda: muster.request("GET", f"{path}0").status == 503, "every place to be taken")
    for connection in waiting:
        connection.close()

    wait_until(lambda: muster.request("GET", f"{path}0").status == 408, "a place to be free")
