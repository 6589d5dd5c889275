"""Tokens: the two endpoints, what ends a token, and the shape that the official client can read."""

import base64
import json
import time
from datetime import timedelta

import jwt
import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from accounts import tokens
from accounts.models import AccessKey, User
from accounts.throttling import PER_ACCOUNT

PASSWORD = "correct horse battery"


@pytest.fixture
def person(db):
    return User.objects.create_user("ada@example.org", PASSWORD)


@pytest.fixture
def key(person):
    secret, hashed = tokens.new_secret()
    key = AccessKey.objects.create(client_id="ci", secret_hash=hashed, name="CI", user=person)
    key.secret = secret
    return key


def ask(path="/api/v1/token", **body):
    return Client().post(path, json.dumps(body), content_type="application/json")


def test_password_grant_gives_tokens_in_runais_shape(person):
    answer = ask(grantType="password", username="ada@example.org", password=PASSWORD)

    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"accessToken", "refreshToken", "expiresIn"}
    assert body["expiresIn"] == 3600
    assert tokens.verify(body["accessToken"], "access")[0] == person


@pytest.mark.parametrize(
    ("grant", "names"),
    [
        ("client_credentials", ("clientID", "clientSecret")),
        ("client_credentials", ("clientId", "clientSecret")),
        ("app_token", ("AppId", "AppSecret")),
        ("app_token", ("appID", "appSecret")),
    ],
)
def test_access_keys_are_accepted_under_every_spelling_that_clients_send(key, grant, names):
    answer = ask(grantType=grant, **dict(zip(names, ("ci", key.secret), strict=True)))

    assert answer.status_code == 200
    assert AccessKey.objects.get().last_used_at is not None


def test_refresh_token_gives_a_new_pair_and_an_access_token_does_not(key):
    pair = tokens.issue(key.user, key)

    assert ask(grantType="refresh_token", refreshToken=pair.refresh).status_code == 200
    assert ask(grantType="refresh_token", refreshToken=pair.access).status_code == 401


def test_a_refresh_token_is_no_access_token(person):
    with pytest.raises(tokens.InvalidToken):
        tokens.verify(tokens.issue(person).refresh, "access")


def test_payload_is_readable_with_the_standard_base64_alphabet(key):
    for _ in range(50):
        payload = tokens.issue(key.user, key).access.split(".")[1]
        decoded = json.loads(base64.b64decode(payload + "=" * (-len(payload) % 4), validate=True))
        assert decoded["exp"] > 0


@pytest.mark.parametrize("fields", [{"clientSecret": "wrong"}, {"clientID": "nobody"}])
def test_wrong_secret_and_unknown_key_look_the_same(key, fields):
    answer = ask(**({"grantType": "client_credentials", "clientID": "ci", "clientSecret": key.secret} | fields))

    assert answer.status_code == 401
    assert answer.json() == {
        "code": 401,
        "message": "The credentials are not valid.",
        "reason": "Unauthorized",
    }


def test_unknown_grant_and_missing_fields_are_named(db):
    unknown = ask(grantType="exchange_token")
    missing = ask(grantType="password", username="ada@example.org")

    assert unknown.status_code == 400
    assert unknown.json()["faults"] == [
        {
            "field": "grantType",
            "message": "This grant is not offered",
            "allowed": "password, client_credentials, app_token, refresh_token",
        }
    ]
    assert missing.json()["faults"][0]["field"] == "password"


def test_guessing_secrets_is_slowed_down(key):
    for _ in range(PER_ACCOUNT):
        assert ask(grantType="app_token", AppId="ci", AppSecret="x").status_code == 401

    answer = ask(grantType="app_token", AppId="ci", AppSecret=key.secret)

    assert answer.status_code == 429
    assert answer.json()["code"] == 429


def test_wrong_refresh_tokens_slow_down_only_the_address_that_sends_them(person):
    body = {"grantType": "refresh_token", "refreshToken": tokens.issue(person).refresh}
    for _ in range(PER_ACCOUNT):
        assert ask(grantType="refresh_token", refreshToken="x").status_code == 401

    here = ask(**body)
    elsewhere = Client(REMOTE_ADDR="192.0.2.7").post("/api/v1/token", json.dumps(body), content_type="application/json")

    assert (here.status_code, elsewhere.status_code) == (429, 200)


def test_v2_speaks_oauth(key):
    form = {"grant_type": "client_credentials", "client_id": "ci", "client_secret": key.secret}
    good = Client().post("/api/v2/token", form, content_type="application/x-www-form-urlencoded")
    assert good.status_code == 400  # Django's client sends a dict as multipart only; so encode it below

    from urllib.parse import urlencode

    def send(**fields):
        return Client().post("/api/v2/token", urlencode(fields), content_type="application/x-www-form-urlencoded")

    good = send(**form)
    assert good.status_code == 200
    assert set(good.json()) == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert send(**form | {"client_secret": "x"}).json()["error"] == "invalid_client"
    assert send(grant_type="password", username="a@b.c", password="x").json()["error"] == "invalid_grant"
    assert send(grant_type="authorization_code").json()["error"] == "unsupported_grant_type"
    assert send(grant_type="password").json()["error"] == "invalid_request"


def end_by_revoking(key):
    AccessKey.objects.update(revoked_at=timezone.now())


def end_by_disabling(key):
    User.objects.update(is_active=False)


def end_by_valid_from(key):
    User.objects.update(valid_from=timezone.now())


def end_by_deleting(key):
    User.objects.all().delete()


@pytest.mark.parametrize("end", [end_by_revoking, end_by_disabling, end_by_valid_from, end_by_deleting])
def test_tokens_end_with_what_they_were_asked_for(key, end, monkeypatch):
    pair = tokens.issue(key.user, key)
    tokens.verify(pair.access, "access")

    end(key)  # in another process: this one has read the user and the key already
    later = time.monotonic() + 29
    monkeypatch.setattr(tokens.time, "monotonic", lambda: later)

    for token, use in ((pair.access, "access"), (pair.refresh, "refresh")):
        with pytest.raises(tokens.InvalidToken):
            tokens.verify(token, use)


def test_tokens_expire(person):
    token = tokens.issue(person).access

    with time_machine.travel(timezone.now() + tokens.LIFETIMES["access"]), pytest.raises(tokens.InvalidToken):
        tokens.verify(token, "access")


def forged(person, **changes):
    return {"sub": str(person.pk), "use": "access", "iat": 0, "exp": 2**31} | changes


def test_tokens_signed_otherwise_are_refused(person, settings):
    claims = forged(person)
    candidates = [
        jwt.encode(claims, settings.SECRET_KEY, algorithm="HS256"),
        jwt.encode(claims, None, algorithm="none"),
        "",
        "a.b.c",
    ]
    for token in candidates:
        with pytest.raises(tokens.InvalidToken):
            tokens.verify(token, "access")


@given(st.text(max_size=200))
def test_any_text_is_an_invalid_token_and_nothing_worse(text):
    with pytest.raises(tokens.InvalidToken):
        tokens.verify(text, "access")


def test_a_wrong_bearer_token_is_401_and_never_anonymous_or_the_session(person, client_of):
    client = client_of(person)
    assert client.get("/api/v1/clusters").status_code == 403  # signed in, without any right
    assert client.get("/api/v1/clusters", headers={"Authorization": "Bearer x"}).status_code == 401
    assert client.get("/api/v1/nothing", headers={"Authorization": "Bearer x"}).status_code == 404


def test_secrets_are_stored_as_hashes_only(key):
    stored = AccessKey.objects.get()

    assert key.secret not in stored.secret_hash
    assert key.secret.startswith("muster_")
    assert len(stored.secret_hash) == 64


def test_signing_keys_change_daily_and_yesterdays_tokens_are_still_good(person):
    start = (timezone.now() + timedelta(days=1)).replace(hour=23, minute=30)
    with time_machine.travel(start, tick=False):
        old = tokens.issue(person)
    with time_machine.travel(start + timedelta(minutes=45), tick=False):
        new = tokens.issue(person)
        assert tokens.verify(old.access, "access")[0] == person
        assert jwt.get_unverified_header(old.access)["kid"] != jwt.get_unverified_header(new.access)["kid"]
        # Yesterday's key cannot sign today's token.
        kid = jwt.get_unverified_header(old.access)["kid"]
        with pytest.raises(tokens.InvalidToken):
            tokens.verify(jwt.encode(forged(person), "x" * 32, algorithm="HS256", headers={"kid": kid}), "access")


def test_tokens_outlive_an_exchange_of_the_secret_key(person, settings):
    old = tokens.issue(person).access
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 60, [settings.SECRET_KEY]

    assert tokens.verify(old, "access")[0] == person

    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(tokens.InvalidToken):
        tokens.verify(old, "access")


@pytest.mark.parametrize("with_key", [True, False])
def test_authentication_adds_one_query_and_none_while_it_is_fresh(key, person, django_assert_num_queries, with_key):
    access = tokens.issue(person, key if with_key else None).access

    with django_assert_num_queries(1):
        tokens.verify(access, "access")
    with django_assert_num_queries(0):
        for _ in range(10):
            tokens.verify(access, "access")


def test_what_a_process_knows_of_tokens_is_bounded_and_old_for_seconds_only():
    assert tokens.STALENESS <= 30
    assert tokens.MAX_KNOWN <= 10_000


def test_requests_do_not_share_what_they_keep_on_their_user(person):
    access = tokens.issue(person).access
    first, _key = tokens.verify(access, "access")
    first._cached_access_rules = ["something"]

    second, _key = tokens.verify(access, "access")

    assert "_cached_access_rules" not in second.__dict__
