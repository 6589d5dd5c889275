"""A temporary password opens something for three days, and who gets it is told until when."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts import tokens
from accounts.management.commands import changepassword
from accounts.models import AuditEntry, User
from accounts.services import create_user, reset_password

EMAIL = "new@example.org"
OWN = "a password of one's own"


@pytest.fixture
def made(admin, actor):
    """A new person and their temporary password."""
    return create_user(actor(admin), email=EMAIL)


def opens(password):
    return Client().post("/account/login", {"email": EMAIL, "password": password}).status_code == 302


def after(**time):
    return time_machine.travel(timezone.now() + timedelta(**time), tick=False)


def test_it_opens_the_page_for_three_days_and_nothing_afterwards(made):
    _user, password = made
    with after(days=2, hours=23):
        assert opens(password)
    with after(days=3, seconds=1):
        assert not opens(password)
        assert AuditEntry.objects.latest("pk").reason == "the temporary password has expired"
    assert User.objects.get(email=EMAIL).must_change_password


def test_a_new_one_begins_anew_and_a_password_of_ones_own_never_ends(made, admin, actor):
    user, _first = made
    with after(days=4):
        password = reset_password(actor(admin), user=user)
        client = Client()
        client.post("/account/login", {"email": EMAIL, "password": password})
        changed = client.post("/account/password", {"currentPassword": password, "newPassword": OWN})
        assert changed.status_code == 302, changed.content
    with after(days=400):
        assert opens(OWN)


def test_signing_somebody_out_everywhere_does_not_prolong_it(made, admin, client_of):
    user, password = made
    with after(days=2):
        client_of(admin).post(f"/api/v1/users/{user.pk}/logout")
    with after(days=3, seconds=1):
        assert not opens(password)


def test_the_api_and_the_pages_say_when(admin, client_of):
    with time_machine.travel("2026-11-30T10:00:00Z", tick=False):
        api = client_of(admin)
        body = json.dumps({"email": EMAIL})
        created = api.post("/api/v1/users", body, content_type="application/json").json()
        again = api.post(f"/api/v1/users/{created['id']}/password").json()
        page = api.post(f"/access/users/{created['id']}/password", {"confirm": EMAIL}).content.decode()
        shown = api.get(f"/access/users/{created['id']}/").content.decode()

    until = parse_datetime("2026-12-03T10:00:00Z")
    assert parse_datetime(created["tempPasswordExpiresAt"]) == until
    assert parse_datetime(again["tempPasswordExpiresAt"]) == until
    assert "expires on 2026-12-03 10:00 UTC" in page
    assert "2026-12-03 10:00 UTC" in shown


def test_a_wrong_password_and_an_expired_one_look_alike(made):
    _user, password = made
    with after(days=3, seconds=1):
        answers = [
            Client().post("/account/login", {"email": EMAIL, "password": given}) for given in (password, "wrong")
        ]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert all("expired" in answer.content.decode() for answer in answers)


def test_a_lost_one_is_replaced_on_the_command_line_which_ends_what_was_open_and_is_on_record(made, monkeypatch):
    user, password = made
    session, token = Client(), tokens.issue(user).access
    session.post("/account/login", {"email": EMAIL, "password": password})
    typed = iter([OWN, OWN, "short", "short", "one thing", "another"])
    monkeypatch.setattr(changepassword, "getpass", lambda prompt: next(typed))

    with after(days=4):
        call_command("changepassword", EMAIL)

        assert opens(OWN)
        assert session.get("/account/rights").status_code == 302
        with pytest.raises(tokens.InvalidToken):
            tokens.verify(token, "access")
        for words in ("too short", "two different"):
            with pytest.raises(CommandError, match=words):
                call_command("changepassword", EMAIL)
        with pytest.raises(CommandError, match="no person"):
            call_command("changepassword", "nobody@example.org")
    said = AuditEntry.objects.filter(action="reset-password").values_list("subject", "source", "after")
    assert list(said) == [(EMAIL, "command", {"password": "changed"})]
