"""Guessing of passwords and secrets: counted by account and by address; what does not get around it."""

import json
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import AuditEntry, SignInFailures, User
from accounts.throttling import PER_ACCOUNT, PER_ADDRESS, TooManyFailures, count_attempt, forgive

PASSWORD = "correct horse battery"
NEW = "a good new password"


@pytest.fixture(autouse=True)
def _quick_hashes(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def person(db):
    return User.objects.create_user("ada@example.org", PASSWORD)


def sign_in(password=PASSWORD, email="ada@example.org", address="192.0.2.1", **headers):
    body = {"email": email, "password": password}
    return Client(REMOTE_ADDR=address).post("/account/login", body, headers=headers).status_code


def change(client, current, query="", **headers):
    body = json.dumps({"currentPassword": current, "newPassword": NEW})
    path = f"/api/v1/me/password{query}"
    return client.post(path, body, content_type="application/json", headers=headers).status_code


def test_many_attempts_at_once_are_no_more_than_one_after_the_other(person):
    """Each counts before it is looked at: those that are being looked at count too."""
    for _ in range(PER_ACCOUNT):
        count_attempt("ada@example.org", "192.0.2.9")

    assert sign_in() == 429


def test_right_passwords_use_up_nothing(person):
    for _ in range(PER_ADDRESS + 5):
        count_attempt("ada@example.org", "192.0.2.1")
        forgive("ada@example.org", "192.0.2.1")

    assert sign_in() == 302


def test_an_address_that_fails_for_many_accounts_is_stopped_and_no_other_one(person):
    for i in range(PER_ADDRESS):
        assert sign_in("x", email=f"nobody-{i}@example.org") == 422

    assert (sign_in(), sign_in(address="192.0.2.2")) == (429, 302)


def test_an_attempt_that_is_refused_for_its_address_does_not_count_for_the_account(person):
    for i in range(PER_ADDRESS):
        count_attempt(f"nobody-{i}", "192.0.2.1")
    for _ in range(PER_ACCOUNT + 1):
        with pytest.raises(TooManyFailures):
            count_attempt("ada@example.org", "192.0.2.1")

    assert sign_in(address="192.0.2.2") == 302


def test_a_made_up_forwarded_address_changes_nothing(person, settings):
    settings.TRUSTED_PROXIES = 0
    for i in range(PER_ADDRESS):
        sign_in("x", email=f"nobody-{i}@example.org", **{"X-Forwarded-For": f"198.51.100.{i}"})

    assert sign_in(**{"X-Forwarded-For": "203.0.113.7"}) == 429
    assert set(AuditEntry.objects.values_list("address", flat=True)) == {"192.0.2.1"}


def test_behind_a_proxy_only_what_the_proxy_added_counts(person, settings):
    settings.TRUSTED_PROXIES = 1
    for i in range(PER_ADDRESS):
        sign_in("x", email=f"nobody-{i}@example.org", **{"X-Forwarded-For": f"203.0.113.{i}, 198.51.100.4"})

    same, other = "203.0.113.99, 198.51.100.4", "198.51.100.4, 198.51.100.5"
    assert (sign_in(**{"X-Forwarded-For": same}), sign_in(**{"X-Forwarded-For": other})) == (429, 302)
    assert set(AuditEntry.objects.values_list("address", flat=True)) == {"198.51.100.4", "198.51.100.5"}


@pytest.mark.parametrize("sent", ["<script>", "198.51.100.7:1234", "unknown", "x" * 400, "[2001:db8::1]:443"])
def test_what_a_proxy_adds_is_an_address_or_the_proxys_own_stands(person, settings, sent):
    settings.TRUSTED_PROXIES = 1

    sign_in("x", **{"X-Forwarded-For": sent})

    wanted = {"198.51.100.7:1234": "198.51.100.7", "[2001:db8::1]:443": "2001:db8::1"}.get(sent, "192.0.2.1")
    assert AuditEntry.objects.get().address == wanted


@pytest.mark.parametrize("way", ["plain", "dry run", "idempotency key"])
def test_ones_own_password_cannot_be_guessed_with_a_session_or_a_token(person, client_of, way):
    client = client_of(person)
    for i in range(PER_ACCOUNT):
        query = "?dryRun=true" if way == "dry run" else ""
        headers = {"Idempotency-Key": f"guess-{i}"} if way == "idempotency key" else {}
        assert change(client, f"guess {i}", query, **headers) == 400

    assert change(client, PASSWORD) == 429
    assert AuditEntry.objects.filter(action="reset-password", outcome="Failed").count() == PER_ACCOUNT
    assert person.check_password(PASSWORD)


def test_ones_own_password_cannot_be_guessed_by_page(person, client_of):
    client = client_of(person)
    statuses = [
        client.post("/account/password", {"currentPassword": f"guess {i}", "newPassword": NEW}).status_code
        for i in range(PER_ACCOUNT)
    ]

    assert set(statuses) == {422}
    assert client.post("/account/password", {"currentPassword": PASSWORD, "newPassword": NEW}).status_code == 429


def test_refused_attempts_at_tokens_are_on_record_like_those_at_the_page(db):
    for _ in range(PER_ACCOUNT + 1):
        body = json.dumps({"grantType": "app_token", "AppId": "ci", "AppSecret": "x"})
        answer = Client().post("/api/v1/token", body, content_type="application/json")

    assert answer.status_code == 429
    reasons = list(AuditEntry.objects.order_by("pk").values_list("reason", flat=True))
    assert reasons == ["wrong credentials"] * PER_ACCOUNT + ["too many failures"]


@pytest.mark.parametrize("field", ["username", "password", "client_id", "client_secret", "refresh_token"])
def test_a_nul_in_a_form_for_a_token_is_a_bad_request(db, field):
    forms = {
        "password": {"username": "a", "password": "b"},
        "client_credentials": {"client_id": "a", "client_secret": "b"},
        "refresh_token": {"refresh_token": "a"},
    }
    grant, form = next((grant, form) for grant, form in forms.items() if field in form)
    sent = urlencode({"grant_type": grant, **form, field: "a\x00b"})

    answer = Client().post("/api/v2/token", sent, content_type="application/x-www-form-urlencoded")

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert not SignInFailures.objects.exists()


def test_who_signs_in_through_the_provider_is_told_that_there_is_no_password_to_guess(person, client_of):
    User.objects.filter(pk=person.pk).update(is_local=False)
    client = client_of(person)

    assert [change(client, f"guess {i}") for i in range(PER_ACCOUNT + 1)] == [409] * (PER_ACCOUNT + 1)
    page = client.post("/account/password", {"currentPassword": "x", "newPassword": NEW})
    assert (page.status_code, "kept by the identity provider" in page.content.decode()) == (422, True)
    assert not SignInFailures.objects.exists()
