"""What somebody with a little power tries in order to get more; every one of these was possible once."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import tokens
from accounts.models import AccessKey, AccessRule, Role, ScopeType, User
from accounts.permissions import ADMINISTRATOR, VIEWER, has_right
from accounts.roles import ACTIONS
from accounts.scopes import find_target
from accounts.selectors import find_subject
from accounts.services import (
    create_access_key,
    create_service_account,
    delete_user,
    grant,
    renew_service_account_secret,
    reset_password,
    revoke,
    set_enabled,
    set_service_account_enabled,
)
from core.errors import Conflict, NotPermitted
from core.models import TenantSetting
from tests.conftest import make_user

RIGHTS = [
    f"{resource}:{action}"
    for resource in ("users", "service-account", "access-keys", "roles", "settings")
    for action in ACTIONS
]


def call(client, method, path, headers=None, **body):
    data = json.dumps(body) if body else None
    return getattr(client, method)(f"/api{path}", data=data, content_type="application/json", headers=headers or {})


def with_role(name, rights, scope_type, scope=None):
    """Somebody with these rights there."""
    role = Role.objects.create(name=f"{name} role", rights=sorted(rights))
    person = make_user(name)
    AccessRule.objects.create(
        user=person, role=role.name, custom_role=role, scope_type=scope_type, scope_id=str(scope.pk) if scope else "",
        cluster_id=scope.cluster_id if scope else None,
    )  # fmt: skip
    return person


@pytest.fixture
def local_chief(department):
    """Every right over people, keys, roles and settings, but in one department only."""
    return with_role("local-chief", RIGHTS, ScopeType.DEPARTMENT, department)


def test_rights_in_a_department_make_nothing_of_the_whole_installation(local_chief, client_of, admin, actor):
    key, _secret = create_access_key(actor(admin), name="laptop")
    account, _key, _secret = create_service_account(actor(admin), name="robot")
    client, rights = client_of(local_chief), [{"resourceType": "users", "actions": ["read"]}]

    answers = {
        "user": call(client, "post", "/v1/users", email="mine@example.org"),
        "service account": call(client, "post", "/v1/service-accounts", name="mine"),
        "role": call(client, "post", "/v2/authorization/roles", name="Mine", permissions=rights),
        "user's password": call(client, "post", f"/v1/users/{admin.pk}/password"),
        "logout": call(client, "post", f"/v1/users/{admin.pk}/logout"),
        "account's secret": call(client, "post", f"/v1/service-accounts/{account.pk}/secret"),
        "key": call(client, "delete", f"/v1/administration/access-keys/{key.pk}"),
        "page of a new user": client.post("/access/users/new", {"email": "mine@example.org"}),
        "page of a new account": client.post("/access/service-accounts/new", {"name": "mine"}),
    }
    setting = client.put("/v1/k8s/setting", json.dumps({"key": "x", "value": True}), content_type="application/json")

    assert {name: answer.status_code for name, answer in answers.items()} == {
        "user": 403, "service account": 403, "role": 403, "user's password": 404, "logout": 404,
        "account's secret": 404, "key": 404, "page of a new user": 403, "page of a new account": 403,
    }  # fmt: skip
    assert setting.status_code == 403
    assert not User.objects.filter(email="mine@example.org").exists()
    assert not TenantSetting.objects.exists()
    assert AccessKey.objects.get(pk=key.pk).revoked_at is None


def test_nobody_is_offered_to_make_a_role_that_they_may_not_make(local_chief, admin, client_of):
    offered = ["New role from this one" in page_of_a_role(client_of(person)) for person in (local_chief, admin)]

    assert offered == [False, True]


def page_of_a_role(client):
    answer = client.get("/access/roles/predefined/1/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_keys_of_everybody_are_shown_only_with_the_right_to_all_of_them(local_chief, client_of, admin, actor):
    key, _secret = create_access_key(actor(admin), name="laptop")
    client = client_of(local_chief)

    for path in ("/api/v1/administration/access-keys", "/api/v1/administration/user-applications"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert key.client_id not in answer.content.decode()
    for path in ("/access/access-keys/?of=all", "/access/access-keys/?of=all&format=csv"):
        answer = client.get(path)
        text = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert key.client_id not in text.decode()


def test_who_sees_all_keys_but_may_revoke_in_one_project_revokes_none_of_others(project, client_of, admin, actor):
    key, _secret = create_access_key(actor(admin), name="laptop")
    reader = with_role("reader", ["access-keys:read"], ScopeType.TENANT)
    deleter = Role.objects.create(name="Deleter", rights=["access-keys:delete"])
    AccessRule.objects.create(
        user=reader, role="Deleter", custom_role=deleter, scope_type=ScopeType.PROJECT, scope_id=str(project.pk)
    )

    answer = call(client_of(reader), "delete", f"/v1/administration/access-keys/{key.pk}")

    assert (answer.status_code, answer.json()["message"]) == (403, "You do not have the right access-keys:delete.")
    assert AccessKey.objects.get(pk=key.pk).revoked_at is None


def test_who_manages_people_does_not_see_their_roles_and_keys_by_it(client_of, admin, actor, researcher):
    key, _secret = create_access_key(actor(researcher), name="laptop")
    helpdesk = with_role("helpdesk", ["users:read", "users:update"], ScopeType.TENANT)
    shown = client_of(helpdesk).get(f"/access/users/{researcher.pk}/").content.decode()

    assert key.client_id not in shown
    assert "assistant" not in shown
    assert "you do not have the right access_rules:read" in shown
    own = client_of(helpdesk).get(f"/access/users/{helpdesk.pk}/").content.decode()
    assert "helpdesk role" in own
    assert key.client_id in client_of(admin).get(f"/access/users/{researcher.pk}/").content.decode()


def test_a_key_that_ends_makes_none_that_outlives_it(viewer, actor):
    soon = timezone.now() + timedelta(hours=2)
    ending, _secret = create_access_key(actor(viewer), name="ending", expires_at=soon)
    endless, _secret = create_access_key(actor(viewer), name="endless")
    client = Client(headers={"Authorization": f"Bearer {tokens.issue(viewer, ending).access}"})
    before = endless.secret_hash

    for_ever = call(client, "post", "/v1/access-keys", name="mine")
    longer = call(client, "post", "/v1/access-keys", name="mine", expiresAt=(soon + timedelta(days=1)).isoformat())
    renewed = call(client, "post", f"/v1/access-keys/{endless.pk}/secret")
    within = call(client, "post", "/v1/access-keys", name="mine", expiresAt=(soon - timedelta(hours=1)).isoformat())

    assert [answer.status_code for answer in (for_ever, longer, renewed, within)] == [400, 400, 409, 201]
    assert for_ever.json()["faults"][0]["field"] == "expiresAt"
    assert AccessKey.objects.get(pk=endless.pk).secret_hash == before


def test_a_service_account_is_no_last_administrator(admin, actor):
    """It cannot sign in on pages: were it the only one left, nobody could."""
    account, _key, _secret = create_service_account(actor(admin), name="robot")
    target = find_target(admin, "tenant", "")
    grant(actor(admin), subject=account, role=ADMINISTRATOR, target=target)
    other = make_user("other")
    second = grant(actor(admin), subject=other, role=ADMINISTRATOR, target=target)
    revoke(actor(admin), rule=second)

    with pytest.raises(Conflict, match="last rule"):
        revoke(actor(admin), rule=admin.access_rules.get())
    with pytest.raises(Conflict, match="last person"):
        delete_user(actor(account), user=admin)


def test_an_account_that_is_called_like_the_id_of_another_is_not_given_its_roles(admin, actor):
    pk = "ffffffff-0000-4000-8000-00000000000a"
    first = User.objects.create(pk=UUID(pk), email="first@service-account", name="first", kind="service-account")
    second, key, _secret = create_service_account(actor(admin), name="second")
    for twin in (pk, key.client_id):
        create_service_account(actor(admin), name=twin)

    assert find_subject("service-account", pk) == first
    assert find_subject("service-account", key.client_id) == second
    assert find_subject("service-account", "second") == second


def test_a_role_that_is_switched_off_is_not_given_and_cannot_be_switched_on_by_who_lacks_its_rights(
    client_of, admin, actor, department_admin, department
):
    role = Role.objects.create(name="Sleeping", rights=["cluster:delete"], enabled=False)
    person = make_user("lin")
    body = {"subjectId": person.email, "subjectType": "user", "scopeType": "department", "scopeId": str(department.pk)}

    given = call(client_of(department_admin), "post", "/v1/authorization/access-rules", **body, roleId=1000 + role.pk)
    maker = with_role("maker", ["roles:update", "roles:read"], ScopeType.TENANT)
    permissions = [{"resourceType": "cluster", "actions": ["delete"]}]
    woken = call(
        client_of(maker), "put", f"/v2/authorization/roles/{1000 + role.pk}", name="Sleeping", permissions=permissions,
        enabled=True,
    )  # fmt: skip

    assert (given.status_code, woken.status_code) == (400, 403)
    assert not Role.objects.get(pk=role.pk).enabled
    assert not has_right(person, "cluster:delete")


def test_who_may_register_clusters_in_a_department_reaches_out_to_none(department, client_of):
    """A test of a connection goes wherever it is told to, from where Muster stands."""
    chief = make_user("chief", ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, department.cluster)
    client, page = client_of(chief), reverse("clusters:cluster-add")
    form = {"name": "mine", "method": "token", "server": "https://10.0.0.1:6443", "token": "x", "test": "1"}

    tried = client.post(page, form)
    registered = call(client, "post", "/v1/clusters", name="mine", server="https://10.0.0.1:6443", token="x")

    assert [answer.status_code for answer in (client.get(page), tried, registered)] == [403, 403, 403]
    assert page not in client.get(reverse("clusters:cluster-list")).content.decode()


def test_nobody_takes_a_role_away_that_they_could_not_give(department_admin, actor, department, admin):
    person = make_user("lin", ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, department.cluster)

    with pytest.raises(NotPermitted):
        revoke(actor(department_admin), rule=person.access_rules.get())
    revoke(actor(department_admin), rule=make_user("mei", VIEWER, "department", department.pk).access_rules.get())
    assert person.access_rules.count() == 1


@pytest.mark.parametrize("asleep", ["account", "role"])
def test_nobody_takes_over_an_account_whose_rights_only_sleep(admin, actor, asleep):
    """They would wake it up after, or wait until somebody does, and act with rights that they lack."""
    rights = ["users:read", "users:update", "service-account:read", "service-account:update"]
    helpdesk = actor(with_role("helpdesk", rights, ScopeType.TENANT))
    chief = with_role("chief", ["cluster:delete"], ScopeType.TENANT)
    robot, key, _secret = create_service_account(actor(admin), name="robot")
    grant(actor(admin), subject=robot, role="chief role", target=find_target(admin, "tenant", ""))
    before = chief.password, key.secret_hash
    if asleep == "account":
        set_enabled(helpdesk, user=chief, enabled=False)
        set_service_account_enabled(helpdesk, account=robot, enabled=False)
    else:
        Role.objects.filter(name="chief role").update(enabled=False)

    with pytest.raises(NotPermitted, match="cluster:delete"):
        reset_password(helpdesk, user=User.objects.get(pk=chief.pk))
    with pytest.raises(NotPermitted, match="cluster:delete"):
        renew_service_account_secret(helpdesk, account=User.objects.get(pk=robot.pk))
    key.refresh_from_db()
    assert (User.objects.get(pk=chief.pk).password, key.secret_hash) == before
