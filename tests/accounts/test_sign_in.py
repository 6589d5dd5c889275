"""Signing in and out, and what slows guessing."""

import pytest
from django.test import Client

from accounts.models import User
from accounts.throttling import PER_ACCOUNT

PASSWORD = "correct horse battery"


@pytest.fixture
def _quick_hashes(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db, _quick_hashes):
    return User.objects.create_user("ada@example.org", PASSWORD)


def sign_in(client, password=PASSWORD, email="ada@example.org", **more):
    return client.post("/account/login", {"email": email, "password": password, **more})


def test_pages_send_anonymous_people_to_the_sign_in_page_and_back(db):
    answer = Client().get("/?cluster=a")

    assert answer.status_code == 302
    assert answer.headers["Location"] == "/account/login?next=/%3Fcluster%3Da"


def test_sign_in_leads_to_the_page_that_was_asked_for(person):
    answer = sign_in(Client(), next="/nodes/?q=a")

    assert answer.status_code == 302
    assert answer.headers["Location"] == "/nodes/?q=a"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil", ""])
def test_sign_in_never_leads_off_the_site(person, target):
    assert sign_in(Client(), next=target).headers["Location"] == "/"


def test_password_is_hashed_with_argon2(db):
    assert User.objects.create_user("bo@example.org", PASSWORD).password.startswith("argon2$argon2id$")


def test_wrong_password_unknown_and_disabled_accounts_look_the_same(person):
    disabled = User.objects.create_user("off@example.org", PASSWORD)
    User.objects.filter(pk=disabled.pk).update(is_active=False)

    answers = [
        sign_in(Client(), "wrong"),
        sign_in(Client(), email="nobody@example.org"),
        sign_in(Client(), email="off@example.org"),
    ]

    assert [a.status_code for a in answers] == [422, 422, 422]
    assert len({a.content.split(b"<form")[1].count(b"do not belong together") for a in answers}) == 1


def test_session_key_changes_at_sign_in(person):
    client = Client()
    client.get("/account/login")
    before = client.session.session_key

    sign_in(client)

    assert client.session.session_key != before


def test_too_many_failures_stop_the_account_even_with_the_right_password(person):
    for _ in range(PER_ACCOUNT):
        assert sign_in(Client(), "wrong").status_code == 422

    assert sign_in(Client()).status_code == 429


def test_failures_of_one_account_do_not_stop_another(person):
    other = User.objects.create_user("bo@example.org", PASSWORD)
    for _ in range(PER_ACCOUNT):
        sign_in(Client(), "wrong")

    assert sign_in(Client(), email=other.email).status_code == 302


def test_sessions_end_when_the_account_is_disabled_or_its_sessions_are_revoked(person, client_of):
    from django.utils import timezone

    client = client_of(person)
    assert client.get("/").status_code == 403  # signed in, without any right

    User.objects.filter(pk=person.pk).update(valid_from=timezone.now())

    assert client.get("/").status_code == 302


def test_sign_out_needs_a_post_and_ends_the_session(person, client_of):
    client = client_of(person)

    assert client.get("/account/logout").status_code == 302
    assert client.get("/account/rights").status_code == 200
    assert client.post("/account/logout").status_code == 302
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(
    ("shown", "back"),
    [
        ("http://testserver/workloads/new/?clone=7", "/workloads/new/%3Fclone%3D7"),
        ("https://elsewhere.example/evil", "/evil"),
        ("", "/"),
        ("[", "/"),
        ("http://[", "/"),
    ],
)
def test_a_fragment_sends_the_page_it_is_part_of_to_the_sign_in_page_when_the_session_has_ended(db, shown, back):
    answer = Client().post("/workloads/new/placement/", headers={"HX-Request": "true", "HX-Current-URL": shown})

    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, f"/account/login?next={back}")
    assert answer.content == b""
