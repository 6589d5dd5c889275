"""Nobody learns from how long a refusal takes whether an account is there: every one costs one hash of a password.
Hashes are counted, not timed."""

import json

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client

from accounts import tokens
from accounts.models import AccessKey, User, UserKind
from tests.hashing import QuickHasher

RIGHT, WRONG = "correct horse battery", "another horse battery"


@pytest.fixture
def hashed(monkeypatch):
    """The passwords that the hasher worked on, in order."""
    found = []
    encode, verify = Argon2PasswordHasher.encode, Argon2PasswordHasher.verify

    def counted_encode(self, password, salt):
        found.append(password)
        return encode(self, password, salt)

    def counted_verify(self, password, encoded):
        found.append(password)
        return verify(self, password, encoded)

    monkeypatch.setattr(QuickHasher, "encode", counted_encode)
    monkeypatch.setattr(QuickHasher, "verify", counted_verify)
    return found


@pytest.fixture
def people(db):
    kinds = {
        "local": (RIGHT, {}),
        "off": (RIGHT, {"is_active": False}),
        "provider": ("", {"is_local": False}),
        "robot": ("", {"kind": UserKind.SERVICE_ACCOUNT}),
    }
    for name, (password, fields) in kinds.items():
        user = User.objects.create_user(f"{name}@example.org", password or None)
        User.objects.filter(pk=user.pk).update(**fields)


def by_page(email, password):
    return Client().post("/account/login", {"email": email, "password": password})


def by_token_v1(email, password):
    sent = {"grantType": "password", "username": email, "password": password}
    return Client().post("/api/v1/token", json.dumps(sent), content_type="application/json")


def by_token_v2(email, password):
    form = f"grant_type=password&username={email}&password={password}".replace(" ", "%20")
    return Client().post("/api/v2/token", form, content_type="application/x-www-form-urlencoded")


REFUSED = [
    ("nobody@example.org", WRONG),
    ("local@example.org", WRONG),
    ("off@example.org", WRONG),
    ("off@example.org", RIGHT),
    ("provider@example.org", WRONG),
    ("robot@example.org", WRONG),
]


@pytest.mark.parametrize(("ask", "status"), [(by_page, 422), (by_token_v1, 401), (by_token_v2, 401)])
def test_every_refusal_of_a_password_costs_one_hash(people, hashed, ask, status):
    costs, answers = {}, set()
    for email, password in REFUSED:
        hashed.clear()
        answer = ask(email, password)
        costs[email, password] = len(hashed)
        answers.add(answer.status_code)

    assert set(costs.values()) == {1}, costs
    assert answers == {status}


@pytest.mark.parametrize("known", [True, False])
def test_an_access_key_that_is_refused_costs_no_hash_of_a_password(people, hashed, known):
    """Secrets of keys are long and random: they are kept by a plain digest, which takes no time to speak of."""
    person = User.objects.get(email="local@example.org")
    AccessKey.objects.create(client_id="ci", secret_hash=tokens.new_secret()[1], name="CI", user=person)
    hashed.clear()
    sent = {"grantType": "client_credentials", "clientID": "ci" if known else "nobody", "clientSecret": "x" * 40}
    answer = Client().post("/api/v1/token", json.dumps(sent), content_type="application/json")

    assert (answer.status_code, hashed) == (401, [])
