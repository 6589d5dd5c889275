"""A link to a new password: shown once, good for a day and one use; what ends it; that it gives nothing away."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from accounts.permissions import ADMINISTRATOR
from accounts.services import force_logout, make_reset_link, reset_password, set_enabled, use_reset_link
from accounts.throttling import PER_ACCOUNT
from core.errors import Conflict, NotPermitted
from tests.conftest import make_user

NEW, OLD = "a password of one's own", "the one that is lost"


@pytest.fixture
def person(db):
    return User.objects.create_user("lin@example.org", OLD)


@pytest.fixture
def address(person, admin, client_of):
    """The link, as the page of who made it shows it."""
    return shown(client_of(admin).post(f"/access/users/{person.pk}/reset-link"))


def shown(answer):
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    found = re.findall(r'<code id="secret-1">([^<]+)</code>', answer.content.decode())
    parts = urlsplit(unescape(found[0]))
    assert (parts.scheme, parts.netloc, parts.path) == ("http", "testserver", "/account/reset")
    return f"{parts.path}?{parts.query}"


def token_of(address):
    return parse_qs(urlsplit(address).query)["token"][0]


def opens(address):
    return Client().get(address).status_code


def signs_in(password):
    body = {"email": "lin@example.org", "password": password}
    return Client().post("/account/login", body).status_code == 302


def test_who_opens_it_chooses_a_password_and_is_signed_in_with_it(person, admin, client_of):
    client, other = Client(), client_of(person)
    address = shown(client_of(admin).post(f"/access/users/{person.pk}/reset-link"))
    assert b"lin@example.org" in client.get(address).content
    answer = client.post(address, {"newPassword": NEW})

    assert answer.headers["Location"] == "/"
    assert client.get("/account/rights").status_code == 200
    assert other.get("/account/rights").status_code == 302
    assert (signs_in(NEW), signs_in(OLD)) == (True, False)


def test_it_replaces_a_temporary_password_that_has_expired(admin, actor, person):
    temporary = reset_password(actor(admin), user=person)
    with time_machine.travel(timezone.now() + timedelta(days=9), tick=False):
        token = make_reset_link(actor(admin), user=person)
        assert not signs_in(temporary)
        Client().post(f"/account/reset?user={person.pk}&token={token}", {"newPassword": NEW})
        assert signs_in(NEW)
    found = User.objects.get(pk=person.pk)
    assert (found.must_change_password, found.temporary_until) == (False, None)


def test_it_is_good_for_one_use(address):
    assert Client().post(address, {"newPassword": NEW}).status_code == 302
    assert Client().post(address, {"newPassword": "another good password"}).status_code == 410
    assert opens(address) == 410
    assert signs_in(NEW)


def test_it_ends_after_a_day(address):
    with time_machine.travel(timezone.now() + timedelta(hours=23, minutes=59), tick=False):
        assert opens(address) == 200
    with time_machine.travel(timezone.now() + timedelta(hours=24, minutes=1), tick=False):
        assert opens(address) == 410


@pytest.mark.parametrize(
    "end",
    [
        lambda by, person: force_logout(by, user=person),
        lambda by, person: reset_password(by, user=person),
        lambda by, person: set_enabled(by, user=person, enabled=False),
        lambda by, person: signs_in(OLD),
        lambda by, person: person.delete(),
    ],
    ids=["signed out", "reset", "disabled", "signed in", "deleted"],
)
def test_whatever_happens_to_the_account_ends_it(person, address, admin, actor, end):
    end(actor(admin), person)
    assert opens(address) == 410


def test_making_one_changes_nothing_and_is_on_record_without_it(person, address):
    entry = AuditEntry.objects.get(action="reset-password")

    assert signs_in(OLD)
    assert (entry.subject, entry.object_name, entry.after) == (
        "admin@example.org",
        "lin@example.org",
        {"link": "changed"},
    )
    assert token_of(address) not in str(list(AuditEntry.objects.values()))


def test_its_use_is_on_record_as_their_own_act_without_password_and_link(person, address):
    AuditEntry.objects.all().delete()
    Client(REMOTE_ADDR="192.0.2.7").post(address, {"newPassword": NEW})
    entries = list(AuditEntry.objects.order_by("pk"))

    assert [(entry.action, entry.subject, entry.outcome, entry.address) for entry in entries] == [
        ("reset-password", "lin@example.org", "Succeeded", "192.0.2.7"),
        ("sign-in", "lin@example.org", "Succeeded", "192.0.2.7"),
    ]
    assert entries[0].after == {"password": "changed"}
    assert {entry.path for entry in entries} == {"/account/reset"}


@pytest.mark.parametrize("password", ["", "short"])
def test_a_password_that_is_none_keeps_the_link(address, password):
    assert Client().post(address, {"newPassword": password}).status_code == 422
    assert opens(address) == 200


def test_wrong_links_look_alike_are_on_record_and_are_counted(person, address):
    wrong = [
        f"/account/reset?user={person.pk}&token=cx0-0123456789abcdef0123456789abcdef",
        f"/account/reset?user=00000000-0000-4000-8000-000000000000&token={token_of(address)}",
        "/account/reset?user=lin@example.org&token=x",
        "/account/reset",
    ]
    answers = [Client().get(path) for path in wrong]
    assert [answer.status_code for answer in answers] == [410] * 4
    assert len({answer.content for answer in answers}) == 1
    assert set(AuditEntry.objects.filter(outcome="Failed").values_list("reason", flat=True)) == {"the link has ended"}

    for _ in range(PER_ACCOUNT):
        opens(wrong[0])
    assert opens(wrong[0]) == 429


def test_of_two_uses_at_once_one_is_told_that_it_was_used(person, admin, actor, rf):
    from accounts.requests import attempt_of

    token = make_reset_link(actor(admin), user=person)
    attempt = attempt_of(rf.post("/account/reset"), str(person.pk))
    use_reset_link(attempt, user=person, token=token, new=NEW)

    with pytest.raises(Conflict, match="used already"):
        use_reset_link(attempt, user=person, token=token, new="another good password")
    assert signs_in(NEW)


def test_nobody_makes_one_for_somebody_who_may_more(actor, project, cluster):
    from accounts.models import AccessRule, Role

    role = Role.objects.create(name="helpdesk", rights=["users:read", "users:update"])
    helper = make_user("helper")
    AccessRule.objects.create(user=helper, role=role.name, custom_role=role, scope_type="tenant")

    with pytest.raises(NotPermitted):
        make_reset_link(actor(helper), user=make_user("chief", ADMINISTRATOR))
    assert make_reset_link(actor(helper), user=make_user("lin"))


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_local": False, "identity": "issuer|lin"}])
def test_people_who_could_not_use_one_get_none(person, admin, client_of, change):
    User.objects.filter(pk=person.pk).update(**change)
    client = client_of(admin)

    assert client.post(f"/access/users/{person.pk}/reset-link").status_code == 409
    assert b"reset-link" not in client.get(f"/access/users/{person.pk}/").content
