"""Waiting for objects and watching them. Rows change as reconcilers change them; time is real but short."""

import asyncio
import json
import threading
import time

import pytest
import urllib3
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test import AsyncClient

from accounts import tokens
from accounts.models import AccessRule, User
from accounts.services import revoke
from controlplane import api_waiting
from controlplane.api_waiting import MOST_WAITING, Goal, _places
from controlplane.live import hub
from organizations.models import Project
from workloads.models import Workload

HTTP = urllib3.PoolManager(retries=False)
READY = {
    "type": "Ready", "status": "True", "reason": "Running", "message": "All pods run.",
    "lastTransitionTime": "2026-11-29T21:00:00Z", "observedGeneration": 1, "arguments": {},
}  # fmt: skip
NOT_READY = {**READY, "status": "False", "reason": "Unschedulable", "message": "No node has 8 free GPUs."}


def settle(row, *conditions, **more):
    type(row).objects.filter(pk=row.pk).update(conditions=list(conditions), observed_generation=row.generation, **more)


def run(work):
    """Its result. The thread in which its database calls run goes on after it: its connection is closed."""

    async def whole():
        try:
            return await asyncio.wait_for(work(), 30)
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(whole())


def test_what_holds_already_is_answered_at_once_with_its_etag(api, world):
    settle(world.running, READY)
    answer = api.get(f"/api/v1/workloads/{world.running.pk}/wait?for=condition=Ready&timeout=0")
    assert (answer.status_code, answer.json()["name"], answer.headers["ETag"]) == (200, "qwen", '"1"')


def test_after_the_time_408_says_what_holds_instead(api, world):
    settle(world.waiting, NOT_READY)
    begun = time.monotonic()
    answer = api.get(f"/api/v1/workloads/{world.waiting.pk}/wait?for=condition=Ready&timeout=1s")

    assert answer.status_code == 408
    assert "No node has 8 free GPUs." in answer.json()["details"]
    assert 0.9 < time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        (Goal("condition", "Ready", "True"), False),
        (Goal("condition", "Ready", "False"), True),
        (Goal("condition", "Other", "True"), False),
        (Goal("phase", value="Pending"), True),
        (Goal("phase", value="Running"), False),
        (Goal("delete"), False),
    ],
)
def test_goals_speak_of_the_state_that_was_asked_for_last(goal, holds):
    row = Workload(phase="Pending", conditions=[NOT_READY], generation=2, observed_generation=2)
    old = Workload(phase="Pending", conditions=[NOT_READY], generation=2, observed_generation=1)
    assert (goal.holds(row), goal.holds(old)) == (holds, False)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "for"),
        ("for=condition", "for"),
        ("for=condition=Ready=Perhaps", "for"),
        ("for=colour=red", "for"),
        ("for=delete=x", "for"),
        ("for=delete&timeout=301", "timeout"),
        ("for=delete&timeout=soon", "timeout"),
    ],
)
def test_wrong_questions_name_the_parameter(api, world, query, field):
    answer = api.get(f"/api/v1/workloads/{world.running.pk}/wait?{query}")
    assert (answer.status_code, answer.json()["faults"][0]["field"]) == (400, field)


@pytest.mark.parametrize("kind", ["clusters", "network-topologies", "node-pools", "departments", "projects"])
def test_every_kind_can_be_waited_for(api, world, kind):
    rows = {
        "clusters": world.cluster, "network-topologies": world.topology, "node-pools": world.pool,
        "departments": world.department, "projects": world.project,
    }  # fmt: skip
    settle(rows[kind], phase="Ready")
    place = f"org-unit/{kind}" if kind in ("departments", "projects") else kind
    assert api.get(f"/api/v1/{place}/{rows[kind].pk}/wait?for=phase=Ready&timeout=0").status_code == 200


@pytest.mark.parametrize(
    ("kind", "phase", "other"),
    [
        ("clusters", "Connected", "Disconnected"),
        ("network-topologies", "Ready", "Failed"),
        ("node-pools", "Ready", "Empty"),
        ("org-unit/departments", "Ready", "NotReady"),
        ("org-unit/projects", "Ready", "NotReady"),
    ],
)
def test_the_phase_says_whether_a_kind_is_ready_that_has_no_such_condition(api, world, kind, phase, other):
    row = {
        "clusters": world.cluster, "network-topologies": world.topology, "node-pools": world.pool,
        "org-unit/departments": world.department, "org-unit/projects": world.project,
    }[kind]  # fmt: skip
    url = f"/api/v1/{kind}/{row.pk}/wait?timeout=0&for=condition=Ready"
    synced = {**READY, "type": "Synced"}
    settle(row, synced, phase=phase)
    assert (api.get(url).status_code, api.get(f"{url}=False").status_code) == (200, 408)

    settle(row, synced, {**NOT_READY, "type": "Accepted", "message": "The name is taken."}, phase=other)
    answer = api.get(url)
    assert (answer.status_code, api.get(f"{url}=False").status_code) == (408, 200)
    assert f"phase {other}; Accepted=False (Unschedulable): The name is taken." in answer.json()["details"]


def test_a_condition_that_the_object_does_not_have_is_named_with_those_that_it_has(api, world):
    settle(world.project, {**READY, "type": "Synced"}, phase="Ready")
    answer = api.get(f"/api/v1/org-unit/projects/{world.project.pk}/wait?for=condition=Sinced&timeout=0")
    assert answer.status_code == 408
    assert "it has no condition Sinced, but Synced" in answer.json()["details"]


def test_what_is_invisible_cannot_be_waited_for(client_of, outsider, world):
    for word in ("wait?for=delete", "watch"):
        assert client_of(outsider).get(f"/api/v1/workloads/{world.running.pk}/{word}").status_code == 404


def test_when_every_place_is_taken_503_says_when_to_come_again(api, world):
    for _ in range(MOST_WAITING):
        _places.acquire()
    try:
        answer = api.get(f"/api/v1/workloads/{world.running.pk}/wait?for=condition=Ready&timeout=1")
    finally:
        for _ in range(MOST_WAITING):
            _places.release()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")


@pytest.mark.django_db(transaction=True)
def test_a_delete_is_waited_for_until_the_row_is_gone(live_server, admin, project):
    import urllib.request

    token = tokens.issue(admin).access
    answers = []

    def ask():
        request = urllib.request.Request(
            f"{live_server.url}/api/v1/org-unit/projects/{project.pk}/wait?for=delete&timeout=20",
            headers={"Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request) as answer:
            answers.append((answer.status, json.load(answer)))
        connection.close()

    asker = threading.Thread(target=ask)
    asker.start()
    while _places._value == MOST_WAITING and asker.is_alive():  # until it waits
        time.sleep(0.02)
    Project.objects.filter(pk=project.pk).delete()
    asker.join(20)

    assert answers == [(200, {"code": 200, "message": "It is deleted."})]


@pytest.mark.django_db(transaction=True)
def test_a_watch_tells_the_object_its_changes_and_its_end(admin, world):
    client, bearer = AsyncClient(), {"Authorization": f"Bearer {tokens.issue(admin).access}"}
    path = f"/api/v1/workloads/{world.waiting.pk}/watch"

    async def watch():
        answer = await client.get(path, headers=bearer)
        assert answer.status_code == 200, answer.content
        events = answer.streaming_content
        seen = []
        async for event in events:
            text = event.decode()
            if text.startswith(":"):
                continue
            seen.append(text)
            if len(seen) == 1:
                await sync_to_async(settle)(world.waiting, READY, phase="Running")
            elif len(seen) == 2:
                await sync_to_async(AccessRule.objects.all().delete)()
        return answer, seen

    answer, seen = run(watch)

    assert answer.headers["Content-Type"] == "text/event-stream"
    assert [json.loads(event.removeprefix("data: "))["phase"] for event in seen[:2]] == ["Pending", "Running"]
    assert seen[2] == "event: gone\ndata: {}\n\n"


@pytest.mark.django_db(transaction=True)
def test_a_watch_ends_at_once_when_the_rule_that_allowed_it_is_removed(
    broker_url, admin, actor, researcher, world, monkeypatch
):
    """At once: long before the stream would ask again by itself."""
    monkeypatch.setattr(api_waiting, "RECHECK_SECONDS", 600.0)
    client, bearer = AsyncClient(), {"Authorization": f"Bearer {tokens.issue(researcher).access}"}
    path = f"/api/v1/workloads/{world.waiting.pk}/watch"

    def take_away():
        for rule in AccessRule.objects.filter(user=researcher):
            revoke(actor(admin), rule=rule)

    async def watch():
        answer = await client.get(path, headers=bearer)
        assert answer.status_code == 200, answer.content
        async for event in answer.streaming_content:
            text = event.decode()
            if text.startswith("data:"):
                await connected()
                await sync_to_async(take_away)()
            elif text.startswith("event: gone"):
                return text
        return ""

    async def connected():
        while not hub().connected:
            await asyncio.sleep(0.01)

    assert run(watch) == "event: gone\ndata: {}\n\n"


@pytest.mark.django_db(transaction=True)
def test_a_watch_by_a_session_ends_with_the_session(broker_url, researcher, world, monkeypatch):
    """Argo CD CVE-2024-41666: a stream that outlives the sign-in."""
    monkeypatch.setattr(api_waiting, "RECHECK_SECONDS", 0.05)
    client = AsyncClient()
    path = f"/api/v1/workloads/{world.waiting.pk}/watch"

    async def watch():
        await sync_to_async(client.force_login)(researcher)
        answer = await client.get(path)
        assert answer.status_code == 200, answer.content
        async for event in answer.streaming_content:
            text = event.decode()
            if text.startswith("data:"):
                await sync_to_async(client.logout)()
            elif text.startswith("event: gone"):
                return text
        return ""

    assert run(watch) == "event: gone\ndata: {}\n\n"


def take_rules_away(researcher):
    AccessRule.objects.filter(user=researcher).delete()


def switch_off(researcher):
    """In another process: nothing here is told of it."""
    User.objects.filter(pk=researcher.pk).update(is_active=False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [take_rules_away, switch_off])
@pytest.mark.parametrize("goal", ["condition=Ready", "delete"])
def test_who_loses_the_right_while_they_wait_is_told_nothing_more(
    live_server, researcher, world, monkeypatch, end, goal
):
    """Not even that the object is deleted, which it is not."""
    monkeypatch.setattr(api_waiting, "WHO_SECONDS", 0.0)
    monkeypatch.setattr(tokens, "STALENESS", 600.0)
    token, answers = tokens.issue(researcher).access, []

    def ask():
        url = f"{live_server.url}/api/v1/workloads/{world.waiting.pk}/wait?for={goal}&timeout=60"
        answer = HTTP.request("GET", url, headers={"Authorization": f"Bearer {token}"})
        answers.append((answer.status, world.waiting.name in answer.data.decode()))

    asker = threading.Thread(target=ask)
    asker.start()
    while _places._value == MOST_WAITING and asker.is_alive():  # until it waits
        time.sleep(0.02)
    end(researcher)
    asker.join(30)

    assert answers in ([(401, False)], [(403, False)], [(404, False)])


def test_the_document_is_served_as_json(api, db):
    found = api.get("/api/v1/openapi.json").json()
    assert found["openapi"].startswith("3.")
    assert any(path.endswith("/wait") for path in found["paths"])
