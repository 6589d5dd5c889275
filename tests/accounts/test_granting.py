"""Giving and taking roles: who may, what is recorded, and that it holds at once."""

import json

import pytest
from redis import Redis

from accounts.models import AccessRule, AuditEntry, Role, ScopeType, User
from accounts.permissions import RESEARCHER, VIEWER, Scope, has_right
from accounts.scopes import Target
from accounts.services import (
    Group,
    create_service_account,
    grant,
    renew_service_account_secret,
    reset_password,
    revoke,
)
from controlplane import live_views
from core.errors import InvalidInput, NotPermitted
from core.live import CHANNEL
from tests.conftest import make_user

HELPDESK = ["users:read", "users:update", "service-account:create", "service-account:read", "service-account:update"]


def give(actor, user, project, role=RESEARCHER):
    return grant(actor, subject=user, role=role, target=target_of(project))


def target_of(project):
    return Target(ScopeType.PROJECT, str(project.pk), project.scope, project.name)


def test_a_granted_role_holds_at_once_and_is_recorded(admin, actor, project):
    person = make_user("lin")
    assert not has_right(person, "workloads:create", project.scope)

    give(actor(admin), person, project)

    assert has_right(person, "workloads:create", project.scope)
    entry = AuditEntry.objects.get()
    assert entry.after == {"user": "lin@example.org", "role": "L1 researcher", "scope": f"project {project.pk}"}


def test_granting_twice_changes_nothing(admin, actor, project):
    person = make_user("lin")

    assert give(actor(admin), person, project) == give(actor(admin), person, project)
    assert AuditEntry.objects.count() == 1


def test_a_department_administrator_grants_below_their_department_only(department_admin, actor, project):
    person = make_user("lin")

    give(actor(department_admin), person, project)
    with pytest.raises(NotPermitted, match="access_rules:create"):
        grant(actor(department_admin), subject=person, role=VIEWER, target=Target(ScopeType.TENANT, "", Scope(), ""))

    assert AccessRule.objects.filter(user=person).count() == 1


def test_an_unknown_role_is_refused_with_those_there_are(admin, actor, project):
    with pytest.raises(InvalidInput, match="role: There is no such role") as caught:
        give(actor(admin), make_user("lin"), project, "Wizard")
    assert caught.value.faults[0].allowed.startswith("System administrator, Department administrator, ")


@pytest.mark.django_db(transaction=True)
def test_taking_a_role_reaches_the_persons_open_pages(admin, actor, project, broker_url):
    person = make_user("lin")
    rule = give(actor(admin), person, project)
    subscription = Redis.from_url(broker_url).pubsub(ignore_subscribe_messages=True)
    subscription.subscribe(CHANNEL)
    subscription.get_message(timeout=5)

    revoke(actor(admin), rule=rule)

    assert f"accounts.User.{person.pk}" in json.loads(subscription.get_message(timeout=5)["data"])
    subscription.close()
    assert not AccessRule.objects.filter(user=person).exists()


@pytest.mark.django_db(transaction=True)
def test_taking_a_role_from_a_group_reaches_the_open_pages_of_its_people(admin, actor, project, broker_url):
    people = [make_user(name) for name in ("lin", "mei")]
    for person in people:
        person.is_local, person.groups = False, ["ml-platform"]
        person.save()
    rule = grant(actor(admin), subject=Group("ml-platform"), role=RESEARCHER, target=target_of(project))
    subscription = Redis.from_url(broker_url).pubsub(ignore_subscribe_messages=True)
    subscription.subscribe(CHANNEL)
    subscription.get_message(timeout=5)

    revoke(actor(admin), rule=rule)

    told = [json.loads(subscription.get_message(timeout=5)["data"]) for _ in people]
    subscription.close()
    assert {topic for topics in told for topic in topics} >= {f"accounts.User.{person.pk}" for person in people}


def test_who_may_not_see_people_does_not_hear_of_changes_to_them(viewer, admin):
    assert live_views._allowed(viewer.pk, ["accounts.User", "clusters.Node"]) == {"clusters.Node"}
    assert live_views._allowed(admin.pk, ["accounts.User"]) == {"accounts.User"}


@pytest.fixture
def helpdesk(db):
    """Somebody who manages people and service accounts of the whole installation, and nothing else."""
    role = Role.objects.create(name="Helpdesk", rights=HELPDESK)
    person = make_user("helpdesk")
    AccessRule.objects.create(user=person, role=role.name, custom_role=role, scope_type=ScopeType.TENANT)
    return person


def test_who_manages_people_cannot_become_an_administrator_by_a_new_password(helpdesk, admin, actor):
    with pytest.raises(NotPermitted):
        reset_password(actor(helpdesk), user=admin)

    admin.refresh_from_db()
    assert not admin.must_change_password
    assert reset_password(actor(helpdesk), user=make_user("lin"))


def test_who_manages_service_accounts_cannot_become_one_that_may_more(helpdesk, admin, actor, project):
    account, key, _secret = create_service_account(actor(helpdesk), name="pipeline")
    before = key.secret_hash
    assert renew_service_account_secret(actor(helpdesk), account=account)
    give(actor(admin), account, project)
    account = User.objects.get(pk=account.pk)

    with pytest.raises(NotPermitted):
        renew_service_account_secret(actor(helpdesk), account=account)
    assert renew_service_account_secret(actor(admin), account=account)
    key.refresh_from_db()
    assert key.secret_hash != before
