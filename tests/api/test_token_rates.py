"""Tokens are given a bounded number of times in a minute, to those too who have the right to them."""

import json
import time

import pytest
import time_machine
from django.test import Client

from accounts.api import token_rates
from accounts.services import create_access_key
from core.api import rates


def next_minute():
    """The start of a minute that is still to come, so that keys exist before their tokens are given."""
    return (int(time.time()) // 60 + 2) * 60


@pytest.fixture
def ask(settings, monkeypatch, admin, actor):
    """`ask(address)`: a token for a key, with its right secret."""
    settings.TOKENS_PER_MINUTE = 2
    monkeypatch.setattr(token_rates, "_accounts", rates.Window())
    monkeypatch.setattr(token_rates, "_addresses", rates.Window())
    made = [create_access_key(actor(admin), name=f"key-{number}") for number in range(8)]

    def ask(address, key=0):
        found, secret = made[key]
        body = {"grantType": "client_credentials", "clientID": found.client_id, "clientSecret": secret}
        return Client(REMOTE_ADDR=address).post("/api/v1/token", json.dumps(body), content_type="application/json")

    return ask


def test_an_account_gets_so_many_tokens_a_minute_from_wherever_it_asks(ask):
    with time_machine.travel(next_minute(), tick=False):
        answers = [ask(f"192.0.2.{number}") for number in range(3)]
        other = ask("192.0.2.9", key=1)
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert (answers[2].headers["Retry-After"], answers[2].json()["code"]) == ("60", 429)
    assert other.status_code == 200


def test_an_address_gets_five_times_as_many_for_all_its_accounts(ask):
    with time_machine.travel(next_minute(), tick=False):
        answers = [ask("192.0.2.1", key=number % 6) for number in range(11)]
        elsewhere = ask("192.0.2.2", key=7)
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert elsewhere.status_code == 200


def test_the_next_minute_begins_anew_and_renewals_count_too(ask):
    with time_machine.travel(next_minute(), tick=False) as clock:
        refresh = [ask("192.0.2.1") for _ in range(2)][1].json()["refreshToken"]
        body = json.dumps({"grantType": "refresh_token", "refreshToken": refresh})
        client = Client(REMOTE_ADDR="192.0.2.1")
        assert client.post("/api/v1/token", body, content_type="application/json").status_code == 429
        clock.shift(60)
        assert client.post("/api/v1/token", body, content_type="application/json").status_code == 200
