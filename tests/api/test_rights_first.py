"""Rights go before everything that depends on the state of an object: a stale If-Match tells nobody that it is stale
who may not write, and an answer that is given again is given to who still has the rights that it took."""

import json

import pytest

from accounts.models import AccessRule, ScopeType
from accounts.permissions import ADMINISTRATOR, DEPARTMENT_ADMINISTRATOR
from accounts.roles import RIGHTS
from core.models import IdempotentAnswer
from organizations.models import Department, Project
from tests.api.test_every_operation import filled, operations
from tests.api.tour import V1, Tour
from tests.conftest import make_user, make_user_with

# Of one's own key nobody else knows.
OWN = ("/api/v1/access-keys/", "/api/v1/user-applications/")
MATCHED = [
    operation
    for operation in operations()
    if operation.startswith(("PUT ", "PATCH ", "DELETE ")) and not operation.split()[1].startswith(OWN)
]
BODIES = {
    "PUT /v1/k8s/setting": {"key": "api.require-if-match", "value": False},
    "PUT /api/v1/node-pools/{nodepoolId}": {"networkTopologyId": None},
}


ROLE = {"name": "some", "permissions": [{"resourceType": "project", "actions": ["read"]}]}


def path_of(tour, template):
    """The path of something that is there and is somebody else's."""
    for root in ("access-keys", "user-applications"):
        if template.startswith(f"{V1}/administration/{root}/"):
            return f"{V1}/administration/{root}/{tour('POST', f'{V1}/{root}', {'name': 'mine'})['id']}"
    if template.startswith("/api/v2/authorization/roles/"):
        return f"/api/v2/authorization/roles/{tour('POST', '/api/v2/authorization/roles', ROLE)['id']}"
    return filled(tour, template)


@pytest.fixture
def reader(client_of, db):
    """A client of somebody who reads everything and writes nothing."""
    return client_of(make_user_with("reader", *(right for right in RIGHTS if right.endswith(":read"))))


@pytest.mark.parametrize("operation", MATCHED)
def test_who_may_not_write_hears_403_whatever_state_they_say_it_is_in(api, world, gateway, reader, operation):
    method, template = operation.split()
    path = path_of(Tour(api, world), template)
    body = BODIES.get(operation, [] if path.endswith("/resources") else {})
    sent = {"data": json.dumps(body), "content_type": "application/json"}

    answers = [reader.generic(method, path, **sent, headers={"If-Match": tag}) for tag in ('"of another state"', "*")]

    assert [answer.status_code for answer in answers] == [403, 403], answers[0].content


def test_a_setting_that_somebody_else_turned_is_412(api, admin):
    one, body = "/v1/k8s/setting/api.require-if-match", {"key": "api.require-if-match", "value": False}
    read = api.get(one).headers["ETag"]

    first, second = (
        api.put("/v1/k8s/setting", json.dumps(body), content_type="application/json", headers={"If-Match": read})
        for _ in range(2)
    )

    assert (first.status_code, second.status_code) == (200, 412)
    assert (api.get(one).json(), api.get(one).headers["ETag"] == read) == (False, False)


def make(client, path, body):
    sent = json.dumps(body)
    return client.post(path, sent, content_type="application/json", headers={"Idempotency-Key": "build-1"})


def test_an_answer_is_not_given_again_to_who_lost_the_right_that_it_took(cluster, default_pool, client_of):
    person = make_user("second", ADMINISTRATOR)
    body = {"name": "team", "clusterId": str(cluster.pk)}
    first = make(client_of(person), "/api/v1/org-unit/departments", body)
    AccessRule.objects.filter(user=person).update(role="Viewer")

    again = make(client_of(person), "/api/v1/org-unit/departments", body)

    assert (first.status_code, again.status_code) == (201, 403)
    assert "department:create" in again.content.decode()
    assert "team" not in again.content.decode()
    AccessRule.objects.filter(user=person).update(role=ADMINISTRATOR)
    assert make(client_of(person), "/api/v1/org-unit/departments", body).json() == first.json()


def test_the_right_is_asked_again_where_it_was_asked(cluster, default_pool, department, client_of):
    person = make_user("second", DEPARTMENT_ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, cluster)
    other = Department.objects.create(cluster=cluster, name="other")
    body = {"name": "one", "clusterId": str(cluster.pk), "parentId": str(department.pk)}
    first = make(client_of(person), "/api/v1/org-unit/projects", body)
    AccessRule.objects.filter(user=person).update(scope_id=str(other.pk))

    again = make(client_of(person), "/api/v1/org-unit/projects", body)

    assert (first.status_code, again.status_code) == (201, 403)
    assert Project.objects.filter(name="one").count() == IdempotentAnswer.objects.count() == 1


def test_a_secret_is_not_shown_again_to_who_may_not_make_one_any_more(client_of, db):
    person = make_user("second", ADMINISTRATOR)
    first = make(client_of(person), "/api/v1/service-accounts", {"name": "robot"})
    AccessRule.objects.filter(user=person).delete()

    again = make(client_of(person), "/api/v1/service-accounts", {"name": "robot"})

    assert (first.status_code, again.status_code) == (201, 403)
    assert first.json()["clientSecret"] not in again.content.decode()
