"""Secrets that are planted everywhere are found nowhere: no answer, error page, log line, broker key or row."""

import json

import pytest
from celery.signals import before_task_publish
from django.apps import apps
from django.test import Client
from redis import Redis

from accounts import tokens
from accounts.services import create_access_key, create_service_account
from clusters.credentials import Credential, encrypt
from organizations.services import put_secret
from tests.contracts.matrix import QUERIES
from tests.contracts.urlconf import path_of, routes

PASSWORD = "canary-of-a-password-7Qz"
CLUSTER_TOKEN = "canary-of-a-cluster-7Qz"
HUGGING_FACE = "hf_canaryOfAModelHub7Qz"
PROVIDER = "canary-of-a-provider-7Qz"


@pytest.fixture
def planted(cast, admin, actor, cluster, project, settings):
    """Canaries where secrets are kept; their texts."""
    admin.set_password(PASSWORD)
    admin.save()
    cluster.credential = encrypt(Credential(token=CLUSTER_TOKEN))
    cluster.save(update_fields=("credential",))
    put_secret(actor(admin), project=project, kind="hugging-face", fields={"token": HUGGING_FACE})
    settings.OIDC_CLIENT_SECRET = PROVIDER
    _key, secret = create_access_key(actor(admin), name="canary")
    _account, _key, of_account = create_service_account(actor(admin), name="canary-bot")
    token = tokens.issue(admin).access
    return {
        "password": PASSWORD,
        "cluster token": CLUSTER_TOKEN,
        "Hugging Face token": HUGGING_FACE,
        "provider secret": PROVIDER,
        "key secret": secret,
        "account secret": of_account,
        "token": token,
        "secret key": settings.SECRET_KEY,
    }


def hits(planted, text):
    return [name for name, canary in planted.items() if canary in text]


def content_of(answer):
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode(errors="replace")


def test_no_answer_and_no_log_line_holds_a_secret(planted, cast, admin, client_of, capfd, settings):
    settings.API_REQUESTS_PER_MINUTE = 10**9
    client, found = client_of(admin), {}
    client.raise_request_exception = False
    session = client.cookies["sessionid"].value
    secrets = {**planted, "session": session}
    for route in routes():
        path = path_of(route, cast) + QUERIES.get(route.name, "")
        requests = [client.get(path, headers={"Authorization": f"Bearer {planted['token']}"})]
        if route.is_api:
            wrong = json.dumps({"name": "x", "password": planted["password"], "kubeconfig": planted["cluster token"]})
            requests.append(client.post(f"{path}?dryRun=true", wrong, content_type="application/json"))
        for answer in requests:
            if which := hits(secrets, content_of(answer)):
                found[path] = which
    out, err = capfd.readouterr()

    assert found == {}
    assert hits(secrets, out + err) == []


def test_an_error_page_holds_no_secret(planted, admin, client_of, monkeypatch, capfd):
    from accounts.views import people

    def fail(viewer):
        password = planted["password"]
        raise RuntimeError(f"something broke near {len(password)} characters")

    monkeypatch.setattr(people, "people", fail)
    client = client_of(admin)
    client.raise_request_exception = False

    answer = client.get("/access/users/")

    assert answer.status_code == 500
    assert hits(planted, content_of(answer)) == []
    assert hits(planted, "".join(capfd.readouterr())) == []


def test_refused_sign_ins_and_tokens_leave_no_secret_behind(planted, capfd):
    Client().post("/account/login", {"email": "admin@example.org", "password": PASSWORD + "x"})
    body = {"grantType": "app_token", "AppId": "canary", "AppSecret": planted["key secret"] + "x"}
    answer = Client().post("/api/v1/token", json.dumps(body), content_type="application/json")

    assert answer.status_code == 401
    assert hits(planted, content_of(answer) + "".join(capfd.readouterr())) == []
    assert hits(planted, stored()) == []


def test_the_database_holds_secrets_in_no_readable_form(planted):
    assert hits(planted, stored()) == []


@pytest.mark.django_db(transaction=True)
def test_the_broker_holds_no_secret(broker_url, planted, client_of, admin, project):
    client = client_of(admin)
    body = {"kind": "hugging-face", "token": "hf_canaryOfAnotherHub7Qz", "name": ""}
    said = []

    def note(sender, body, headers, **more):
        said.append(repr((sender, body, headers)))

    # The arguments as they are handed over: what the broker keeps is base64 of them.
    before_task_publish.connect(note)
    try:
        client.post(f"/projects/{project.pk}/secrets/", body)
        client.post("/access/access-keys/new", {"name": "another"})
    finally:
        before_task_publish.disconnect(note)
    redis = Redis.from_url(broker_url)

    assert said, "no message was sent"
    assert hits({**planted, "new token": "hf_canaryOfAnotherHub7Qz"}, "\n".join(said)) == []
    kept = [redis.dump(key) or b"" for key in redis.scan_iter()]

    text = b"".join(kept).decode(errors="replace")
    assert hits({**planted, "new token": "hf_canaryOfAnotherHub7Qz"}, text) == []


def stored():
    """Every value of every row, as text."""
    rows = [row for model in apps.get_models() for row in model._default_manager.values()]
    return "\n".join(
        bytes(value).decode(errors="replace") if isinstance(value, (bytes, memoryview)) else str(value)
        for row in rows
        for value in row.values()
    )
