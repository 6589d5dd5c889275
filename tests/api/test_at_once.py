"""So many requests of one person or key run at once, streams included; without a broker nobody is limited."""

import threading
import time

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client
from redis import Redis

from accounts import tokens
from accounts.services import create_access_key
from core import broker
from core.api import concurrency
from core.api.concurrency import take_place
from tests.api.test_waiting import run

CLUSTERS = "/api/v1/clusters"


def bearer(user, key=None):
    return {"Authorization": f"Bearer {tokens.issue(user, key).access}"}


def running(url):
    return sum(Redis.from_url(url).zcard(key) for key in Redis.from_url(url).keys("muster:running:*"))


@pytest.fixture
def one(settings, broker_url):
    settings.API_CONCURRENT_REQUESTS = 1
    return broker_url


def test_one_more_than_may_run_at_once_is_429_with_words_and_a_time_to_wait(one, admin):
    taken = take_place(f"{admin.pk}/", 1)
    refused = Client().get(CLUSTERS, headers=bearer(admin))
    taken.release()
    answered = Client().get(CLUSTERS, headers=bearer(admin))

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert (refused.json()["code"], refused.json()["reason"]) == (429, "TooManyAtOnce")
    assert refused.json()["details"].startswith("1 requests of yours are running")
    assert answered.status_code == 200
    assert running(one) == 0


def test_each_key_and_each_person_has_places_of_their_own(one, admin, viewer, actor):
    key, _secret = create_access_key(actor(admin), name="ci")
    take_place(f"{admin.pk}/", 1)

    assert Client().get(CLUSTERS, headers=bearer(admin)).status_code == 429
    assert Client().get(CLUSTERS, headers=bearer(admin, key)).status_code == 200
    assert Client().get(CLUSTERS, headers=bearer(viewer)).status_code == 200


@pytest.mark.parametrize("path", [CLUSTERS, f"{CLUSTERS}/none", f"{CLUSTERS}?colour=red", "/api/v1/policies"])
def test_whatever_the_answer_is_its_place_is_free_again(one, admin, path):
    for _again in range(3):
        assert Client().get(path, headers=bearer(admin)).status_code != 429
    assert running(one) == 0


def test_a_request_that_fails_unforeseen_gives_its_place_back(one, admin, monkeypatch):
    def fail(*args):
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("clusters.api.views.ClusterListView.get", fail)
    with pytest.raises(RuntimeError, match="unforeseen"):
        Client().get(CLUSTERS, headers=bearer(admin))
    assert running(one) == 0


def test_the_place_of_a_process_that_died_is_free_after_its_lease(one, admin, monkeypatch):
    monkeypatch.setattr(concurrency, "LEASE_SECONDS", 1)
    take_place(f"{admin.pk}/", 1)
    deadline = time.monotonic() + 30
    while Client().get(CLUSTERS, headers=bearer(admin)).status_code == 429:
        assert time.monotonic() < deadline


def test_a_renewed_place_is_held(one, admin):
    taken = take_place("somebody", 1)
    taken.renew()
    with pytest.raises(concurrency.TooManyAtOnce):
        take_place("somebody", 1)
    taken.release()
    taken.renew()
    assert running(one) == 0


def test_without_a_broker_nobody_is_limited_and_the_log_says_so_once(settings, admin, monkeypatch):
    settings.API_CONCURRENT_REQUESTS = 1
    monkeypatch.setattr(concurrency._Log, "uncounted", False)
    said = []
    monkeypatch.setattr(concurrency.log, "warning", said.append)
    for _again in range(3):
        broker.note_found()
        assert Client().get(CLUSTERS, headers=bearer(admin)).status_code == 200
    assert said == ["requests at once are not limited: the broker is lost"]


def test_zero_is_no_limit_and_asks_no_broker(settings, admin, broker_url):
    settings.API_CONCURRENT_REQUESTS = 0
    assert Client().get(CLUSTERS, headers=bearer(admin)).status_code == 200
    assert not Redis.from_url(broker_url).keys("muster:running:*")


def test_of_many_threads_no_more_than_the_limit_hold_a_place(broker_url):
    held, refused, all_asked = [], [], threading.Barrier(8)

    def ask():
        all_asked.wait(30)
        try:
            held.append(take_place("somebody", 3))
        except concurrency.TooManyAtOnce:
            refused.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(held), len(refused)) == (3, 5)
    assert None not in held


@pytest.mark.django_db(transaction=True)
def test_a_stream_holds_its_place_until_it_is_closed(one, admin, world):
    client, path = AsyncClient(), f"/api/v1/workloads/{world.waiting.pk}/watch"

    async def watch():
        answer = await client.get(path, headers=bearer(admin))
        stream = answer.streaming_content
        assert (await anext(stream)).startswith(b"data:")
        while_open = await client.get(CLUSTERS, headers=bearer(admin))
        await stream.aclose()
        await sync_to_async(answer.close)()
        afterwards = await client.get(CLUSTERS, headers=bearer(admin))
        return while_open.status_code, afterwards.status_code

    assert run(watch) == (429, 200)
