"""The official Run:ai client, unmodified, against the running product: every group, synchronous and threaded; and
what several writers at once do with one key."""

import http.client
import json
import threading
from typing import Any

import pytest

from tests.api.runapy_job import Job, do_everything
from tests.stack.installation import EMAIL, PASSWORD, Muster
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
