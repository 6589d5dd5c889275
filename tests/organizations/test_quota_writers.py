"""Two who write the same quota at once: the second waits for the first, and what the first wrote is never lost."""

import json
import threading
import time
from decimal import Decimal

import pytest
from django.db import connection, connections, transaction
from django.test import Client

from accounts import tokens
from organizations.models import Project, Quota
from organizations.quota_rows import ensure_quota_rows
from organizations.services import QuotaInput, update_project

pytestmark = [
    pytest.mark.skipif(connection.vendor == "sqlite", reason="only on PostgreSQL"),
    pytest.mark.django_db(transaction=True),
]
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
def quota(project, default_pool):
    ensure_quota_rows(project)
    return Quota.objects.get(project=project, node_pool=default_pool)


@pytest.fixture
def ask(admin, project, default_pool):
    """`ask(fields, tag)`: a thread that changes the pool's quota over the API; its answer is in the list."""
    token = tokens.issue(admin).access

    def ask(fields, tag):
        answers = []

        def write():
            try:
                body = [{"nodePool": {"id": str(default_pool.pk)}, **fields}]
                path = f"/api/v1/org-unit/projects/{project.pk}/resources"
                headers = {"If-Match": tag, "Authorization": f"Bearer {token}"}
                answer = Client().patch(path, json.dumps(body), content_type="application/json", headers=headers)
                answers.append((answer.status_code, answer.json()))
            finally:
                connections.close_all()

        thread = threading.Thread(target=write)
        thread.start()
        return thread, answers

    return ask


def wait_until_somebody_waits(thread):
    """For a lock, which only the other writer can mean; or until the thread has ended."""
    deadline = time.monotonic() + 30
    with connection.cursor() as cursor:
        while thread.is_alive():
            cursor.execute(WAITING)
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline, "nobody waits"


@pytest.fixture
def first(actor, admin, project, default_pool):
    """The first writer's change of the pool's GPUs, in the transaction that is open."""
    given = QuotaInput(default_pool, {"gpu_deserved": Decimal(3)})
    return lambda: update_project(actor(admin), project=project, quotas=[given])


@pytest.mark.parametrize(("tagged", "status", "cpu"), [(True, 412, Decimal(-1)), (False, 200, Decimal(4))])
def test_the_second_writer_waits_and_then_writes_beside_the_first_or_is_412(ask, quota, first, tagged, status, cpu):
    tag = f'"{quota.project.generation}"' if tagged else "*"
    with transaction.atomic():
        first()
        thread, answers = ask({"cpu": {"deserved": 4}}, tag)
        wait_until_somebody_waits(thread)
        assert answers == []
    thread.join(30)

    quota.refresh_from_db()
    assert [answer[0] for answer in answers] == [status], answers
    assert (quota.gpu_deserved, quota.cpu_deserved) == (Decimal(3), cpu)


def test_of_many_at_once_with_one_tag_one_writes_and_the_others_are_412(ask, quota, project):
    asked = [ask({"gpu": {"deserved": number}}, f'"{project.generation}"') for number in range(1, 5)]
    for thread, _answers in asked:
        thread.join(60)
    statuses = [answers[0][0] for _thread, answers in asked]

    quota.refresh_from_db()
    assert sorted(statuses) == [200, 412, 412, 412]
    assert quota.gpu_deserved == statuses.index(200) + 1
    assert Project.objects.get(pk=project.pk).generation == project.generation + 1
