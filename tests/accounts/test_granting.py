"""Giving and taking roles: who may, what is recorded, and that it holds at once."""

import json

import pytest
from redis import Redis

from accounts.models import AccessRule, AuditEntry, ScopeType
from accounts.permissions import RESEARCHER, VIEWER, Scope, has_right
from accounts.scopes import Target
from accounts.services import Group, grant, revoke
from controlplane import live_views
from core.errors import InvalidInput, NotPermitted
from core.live import CHANNEL
from tests.conftest import make_user


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
