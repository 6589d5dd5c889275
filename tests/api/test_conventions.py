"""What every operation shares beyond Run:ai: idempotency keys, ETags, limits of rate. Real requests, real rows."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.models import AccessRule
from accounts.permissions import ADMINISTRATOR
from core.api import rates
from core.api.idempotency import PURPOSE
from core.api.shapes import Count, conforming
from core.models import IdempotentAnswer
from core.sealing import cipher
from organizations.models import Department, Project
from organizations.quota_rows import ensure_quota_rows
from tests.conftest import make_user
from topology.models import NetworkTopology

DEPARTMENTS = "/api/v1/org-unit/departments"


@pytest.fixture
def api(admin, client_of):
    return client_of(admin)


def post(client, path, body, key=None, **headers):
    given = {**headers, **({"HTTP_IDEMPOTENCY_KEY": key} if key is not None else {})}
    return client.post(path, data=json.dumps(body), content_type="application/json", **given)


def department(cluster, name="team"):
    return {"name": name, "clusterId": str(cluster.pk)}


def test_the_same_key_and_body_get_the_same_answer_and_one_row(api, cluster, default_pool):
    first = post(api, DEPARTMENTS, department(cluster), "build-1")
    again = post(api, DEPARTMENTS, department(cluster), "build-1")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Department.objects.filter(name="team").count() == 1


def test_without_a_key_the_second_is_a_conflict(api, cluster, default_pool):
    answers = [post(api, DEPARTMENTS, department(cluster)).status_code for _ in range(2)]
    assert answers == [201, 409]


def test_the_same_key_with_another_body_or_path_is_422(api, cluster, default_pool):
    post(api, DEPARTMENTS, department(cluster), "build-1")

    other_body = post(api, DEPARTMENTS, department(cluster, "other"), "build-1")
    other_query = post(api, f"{DEPARTMENTS}?dryRun=true", department(cluster), "build-1")

    assert [other_body.status_code, other_query.status_code] == [422, 422]
    assert other_body.json()["code"] == 422
    assert not Department.objects.filter(name="other").exists()


def test_keys_of_two_people_are_two_keys(api, cluster, default_pool, client_of):
    second = client_of(make_user("second", ADMINISTRATOR))
    post(api, DEPARTMENTS, department(cluster), "build-1")

    assert post(second, DEPARTMENTS, department(cluster, "other"), "build-1").status_code == 201


def test_while_the_first_is_answered_the_second_is_409_with_a_wait(api, cluster, default_pool):
    post(api, DEPARTMENTS, department(cluster), "build-1")
    IdempotentAnswer.objects.update(answer=None)

    second = post(api, DEPARTMENTS, department(cluster), "build-1")

    assert (second.status_code, second.headers["Retry-After"]) == (409, "1")


def test_a_claim_of_a_process_that_died_can_be_taken_over(api, cluster, default_pool):
    IdempotentAnswer.objects.all().delete()
    post(api, DEPARTMENTS, department(cluster), "build-1")
    IdempotentAnswer.objects.update(answer=None, claimed_at=timezone.now() - timedelta(seconds=61))
    Department.objects.filter(name="team").delete()

    assert post(api, DEPARTMENTS, department(cluster), "build-1").status_code == 201


def test_a_key_is_free_again_after_a_day(api, cluster, default_pool):
    post(api, DEPARTMENTS, department(cluster), "build-1")
    IdempotentAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert post(api, DEPARTMENTS, department(cluster, "other"), "build-1").status_code == 201


def test_keys_are_kept_for_24_hours(api, cluster, default_pool):
    before = timezone.now()
    post(api, DEPARTMENTS, department(cluster), "build-1")
    kept = IdempotentAnswer.objects.get().expires_at - before
    assert timedelta(hours=24) <= kept < timedelta(hours=24, minutes=1)


def test_a_refusal_is_repeated_too_and_writes_nothing(api, cluster, default_pool):
    wrong = {"name": "Not a name", "clusterId": str(cluster.pk)}
    first, again = (post(api, DEPARTMENTS, wrong, "build-1") for _ in range(2))

    assert (first.status_code, again.status_code) == (400, 400)
    assert again.json() == first.json()


def test_a_conflict_is_not_kept(api, cluster, default_pool):
    taken = Department.objects.create(cluster=cluster, name="team")
    assert post(api, DEPARTMENTS, department(cluster), "build-1").status_code == 409
    taken.delete()
    assert post(api, DEPARTMENTS, department(cluster), "build-1").status_code == 201


def test_what_is_stored_is_unreadable_without_the_secret_key(api, cluster, default_pool):
    post(api, DEPARTMENTS, department(cluster), "build-1")
    row = IdempotentAnswer.objects.get()
    assert b"team" not in bytes(row.answer)
    assert "build-1" not in row.digest


@pytest.mark.parametrize("stored", [[201, {"name": "team"}, {}], None])
def test_an_answer_of_another_version_or_secret_key_is_lost_and_the_request_not_run_again(
    api, cluster, default_pool, stored
):
    """Before rights were kept with it, an answer had three parts."""
    post(api, DEPARTMENTS, department(cluster), "build-1")
    Department.objects.filter(name="team").delete()
    IdempotentAnswer.objects.update(answer=cipher(PURPOSE).encrypt(json.dumps(stored).encode()) if stored else b"x")

    again = post(api, DEPARTMENTS, department(cluster), "build-1")

    assert (again.status_code, "was carried out" in again.json()["details"]) == (409, True)
    assert not Department.objects.filter(name="team").exists()
    IdempotentAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert post(api, DEPARTMENTS, department(cluster), "build-1").status_code == 201


def test_a_question_with_a_key_is_answered_anew(cluster, default_pool, client_of):
    person = make_user("second", ADMINISTRATOR)
    path, body = "/api/v1/authorization/permitted-scopes", {"resourceType": "department", "action": "create"}
    first = post(client_of(person), path, body, "build-1").json()
    AccessRule.objects.filter(user=person).delete()

    again = post(client_of(person), path, body, "build-1")

    assert (len(first["create"]["tenants"]), again.json()["create"]["tenants"]) == (1, [])
    assert not IdempotentAnswer.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 256, "ключ", "a\tb"])
def test_keys_that_are_none_are_400_naming_the_header(api, cluster, default_pool, key):
    answer = post(api, DEPARTMENTS, department(cluster), key)
    assert answer.status_code == 400
    assert answer.json()["faults"][0]["field"] == "Idempotency-Key"


@pytest.fixture
def quota(project, default_pool):
    ensure_quota_rows(project)
    return {"nodePool": {"id": str(default_pool.pk)}, "gpu": {"deserved": 2}}


def patch(client, path, body, **headers):
    return client.patch(path, data=json.dumps(body), content_type="application/json", **headers)


def test_an_edit_of_what_somebody_else_changed_is_412_and_writes_nothing(api, project, quota):
    path = f"/api/v1/org-unit/projects/{project.pk}"
    read = api.get(path).headers["ETag"]
    first = patch(api, f"{path}/resources", [quota], HTTP_IF_MATCH=read)
    second = patch(api, f"{path}/resources", [{**quota, "gpu": {"deserved": 5}}], HTTP_IF_MATCH=read)

    assert (first.status_code, second.status_code) == (200, 412)
    assert api.get(path).json()["resources"][0]["gpu"]["deserved"] == 2


@pytest.mark.parametrize(("agent", "status"), [("curl/8", 428), ("runai-api-client-python/1.224.0 python/3", 200)])
def test_quota_writes_say_what_they_change_but_for_the_official_client(api, project, quota, agent, status):
    path = f"/api/v1/org-unit/projects/{project.pk}/resources"
    assert patch(api, path, [quota], HTTP_USER_AGENT=agent).status_code == status


def test_attaching_a_topology_says_what_it_changes(api, default_pool):
    path = f"/api/v1/node-pools/{default_pool.pk}"
    assert patch(api, path, {"networkTopologyId": None}).status_code == 428
    assert patch(api, path, {"networkTopologyId": None}, HTTP_IF_MATCH="*").status_code == 200


def test_a_missing_right_goes_before_a_missing_tag(client_of, viewer, project, quota):
    answer = patch(client_of(viewer), f"/api/v1/org-unit/projects/{project.pk}/resources", [quota])
    assert answer.status_code == 403


def test_a_delete_of_an_older_state_is_412(api, project):
    path = f"/api/v1/org-unit/projects/{project.pk}"
    assert api.delete(path, headers={"If-Match": '"999"'}).status_code == 412
    assert Project.objects.get().deletion_requested_at is None


def test_every_answer_says_what_is_left_and_over_it_429(api, settings, monkeypatch):
    settings.API_REQUESTS_PER_MINUTE = 2
    monkeypatch.setattr(rates, "_window", rates.Window())
    with time_machine.travel(1_000_000_020, tick=False):
        answers = [api.get("/api/v1/clusters") for _ in range(3)]

    assert [a.status_code for a in answers] == [200, 200, 429]
    assert [a.headers["RateLimit-Remaining"] for a in answers] == ["1", "0", "0"]
    assert answers[2].headers["Retry-After"] == answers[2].headers["RateLimit-Reset"]
    assert answers[2].json()["code"] == 429


def test_the_window_forgets_the_minute_before():
    window = rates.Window()
    assert window.count("a", 59.0) == (1, 1)
    assert window.count("a", 59.9) == (2, 1)
    assert window.count("b", 59.9) == (1, 1)
    assert window.count("a", 60.0) == (1, 60)


def test_request_ids_are_answered(api):
    assert api.get("/api/v1/clusters", headers={"X-Request-ID": "build-77"}).headers["X-Request-ID"] == "build-77"


@pytest.mark.parametrize("query", ["dryRun=true&dryRun=false", "dryRun=false&dryRun=true", "dryRun=TRUE", "dryRun="])
def test_a_dry_run_that_is_asked_for_by_halves_is_no_write(api, cluster, default_pool, query):
    answer = post(api, f"{DEPARTMENTS}?{query}", department(cluster))

    assert (answer.status_code, answer.json()["faults"][0]["field"]) == (400, "dryRun")
    assert not Department.objects.filter(name="team").exists()


def test_an_answer_that_is_not_of_its_shape_is_given_and_logged(caplog):
    answer = {"count": 1, "colour": "red"}

    assert conforming(answer, Count) == answer
    assert "colour" in caplog.text
    caplog.clear()


def test_the_etag_of_a_topology_is_the_one_that_its_deletion_wants(api, cluster):
    topology = NetworkTopology.objects.create(cluster=cluster, name="dc", levels=["kubernetes.io/hostname"])
    path = f"/api/v1/network-topologies/{topology.pk}"
    read = api.get(path).headers["ETag"]
    NetworkTopology.objects.update(generation=2)

    assert api.delete(path, headers={"If-Match": read}).status_code == 412
    assert api.delete(path, headers={"If-Match": api.get(path).headers["ETag"]}).status_code == 204
