"""Sign-in through a real OpenID Connect provider (oidc-provider-mock, a process of its own on loopback)."""

import json
import re
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import socket
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3
from django.test import Client

from accounts import tokens
from accounts.identity_provider import ProviderFailed, joined
from accounts.models import AccessRule, AuditEntry, ScopeType, User
from accounts.permissions import has_right
from tests.conftest import make_user

HTTP = urllib3.PoolManager(retries=False)
START, RETURN = "/account/provider", "/account/provider/return"


def free_port():
    with closing(socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def issuer():
    with running(free_port()) as url:
        yield url


@contextmanager
def running(port):
    """A provider of its own at this port; it makes its keys when it starts."""
    program = Path(sys.executable).with_name("oidc-provider-mock")
    process = subprocess.Popen(
        [program, "--port", str(port), "--require-nonce", "true"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 30
    while not answers(url):
        assert process.poll() is None, "the provider ended"
        assert time.monotonic() < deadline, "the provider did not start"
    try:
        yield url
    finally:
        process.terminate()
        process.wait(10)


def answers(url):
    try:
        return HTTP.request("GET", f"{url}/.well-known/openid-configuration").status == 200
    except urllib3.exceptions.HTTPError:
        return False


@pytest.fixture
def provider(issuer, settings, db):
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = issuer, "muster", "a client's secret"
    return issuer


def know(issuer, subject, **claims):
    """Tell the provider what it says of a person."""
    answer = HTTP.request("PUT", f"{issuer}/users/{subject}", json=claims)
    assert answer.status == 204, answer.data


def consent(location, subject):
    """What the person does at the provider: they say who they are. Returns the address they come back to."""
    answer = HTTP.request("POST", location, fields={"sub": subject}, encode_multipart=False, redirect=False)
    assert answer.status == 302, answer.data
    return urlsplit(answer.headers["Location"])


def sign_in(subject, client=None, path=START):
    client = client or Client()
    begun = client.get(path)
    assert begun.status_code == 302, begun.content
    back = consent(begun.headers["Location"], subject)
    return client, client.get(f"{back.path}?{back.query}")


def test_the_browser_is_sent_with_state_nonce_and_a_challenge(provider):
    query = parse_qs(urlsplit(Client().get(START).headers["Location"]).query)

    assert query["response_type"] == ["code"]
    assert query["code_challenge_method"] == ["S256"]
    assert all(len(query[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
    assert query["redirect_uri"] == ["http://testserver/account/provider/return"]


def test_a_person_comes_back_signed_in_with_the_rights_of_their_groups(provider, project):
    AccessRule.objects.create(
        group="ml-platform",
        role="L1 researcher",
        scope_type=ScopeType.PROJECT,
        scope_id=str(project.pk),
        cluster_id=project.cluster_id,
    )
    know(provider, "lin", email="Lin@example.org", name="Lin", groups=["ml-platform", "everyone"])

    client, answer = sign_in("lin", path=f"{START}?next=/workloads/")

    assert answer.headers["Location"] == "/workloads/"
    person = User.objects.get(email="lin@example.org")
    assert (person.is_local, person.groups, person.has_usable_password()) == (False, ["everyone", "ml-platform"], False)
    assert has_right(person, "workloads:create", project.scope)
    assert client.get("/account/rights").status_code == 200
    assert [(e.action, e.outcome, e.subject) for e in AuditEntry.objects.order_by("pk")] == [
        ("create", "Succeeded", "lin@example.org"),
        ("sign-in", "Succeeded", "lin@example.org"),
    ]
    made = AuditEntry.objects.get(action="create")
    assert made.after == {"email": "lin@example.org", "name": "Lin", "groups": ["everyone", "ml-platform"]}


def test_who_leaves_a_group_has_lost_its_rights_at_the_next_sign_in(provider):
    AccessRule.objects.create(group="ml-platform", role="Viewer", scope_type=ScopeType.TENANT)
    know(provider, "mei", email="mei@example.org", groups=["ml-platform"])
    sign_in("mei")
    assert has_right(User.objects.get(email="mei@example.org"), "cluster:read")

    know(provider, "mei", email="mei@example.org", groups=[])
    sign_in("mei")

    assert User.objects.filter(email="mei@example.org").count() == 1
    assert not has_right(User.objects.get(email="mei@example.org"), "cluster:read")
    changed = AuditEntry.objects.get(action="update")
    assert (changed.before, changed.after) == ({"groups": ["ml-platform"]}, {"groups": []})
    assert (changed.path, changed.address) == ("/account/provider/return", "127.0.0.1")


def test_tokens_of_who_leaves_a_group_open_nothing_of_its_after_the_next_sign_in(provider):
    """Not those that they have, nor those that they are renewed to."""
    AccessRule.objects.create(group="ml-platform", role="Viewer", scope_type=ScopeType.TENANT)
    know(provider, "noa", email="noa@example.org", groups=["ml-platform"])
    sign_in("noa")
    pair = tokens.issue(User.objects.get(email="noa@example.org"))
    before = status_with(pair.access)

    know(provider, "noa", email="noa@example.org", groups=[])
    sign_in("noa")
    renewed = (
        Client()
        .post(
            "/api/v1/token",
            json.dumps({"grantType": "refresh_token", "refreshToken": pair.refresh}),
            content_type="application/json",
        )
        .json()["accessToken"]
    )

    assert (before, status_with(pair.access), status_with(renewed)) == (200, 403, 403)


def status_with(token):
    return Client().get("/api/v1/clusters", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_local_account_is_not_taken_over_by_its_address(provider, admin):
    know(provider, "thief", email="admin@example.org", groups=[])

    client, answer = sign_in("thief")

    assert answer.status_code == 403
    assert client.get("/account/rights").status_code == 302
    assert User.objects.get(email="admin@example.org").identity is None
    assert AuditEntry.objects.get().outcome == "Failed"


def test_an_address_that_is_not_verified_signs_nobody_in(provider):
    know(provider, "al", email="al@example.org", email_verified=False)

    _client, answer = sign_in("al")

    assert answer.status_code == 502
    assert not User.objects.exists()


def test_a_disabled_person_stays_out(provider):
    know(provider, "bo", email="bo@example.org")
    sign_in("bo")
    User.objects.filter(email="bo@example.org").update(is_active=False)

    _client, answer = sign_in("bo")

    assert answer.status_code == 403


def test_an_answer_that_this_browser_did_not_ask_for_is_refused(provider):
    know(provider, "eve", email="eve@example.org")
    begun = Client().get(START)
    back = consent(begun.headers["Location"], "eve")

    answer = Client().get(f"{back.path}?{back.query}")  # another browser: no such state in its session

    assert answer.status_code == 502
    assert not User.objects.exists()


@pytest.mark.parametrize("query", ["", "?error=access_denied", "?code=x&state=y", "?code=&state="])
def test_made_up_answers_are_refused_and_recorded(provider, query):
    answer = Client().get(RETURN + query)

    assert answer.status_code == 502
    assert "identity provider did not sign you in" in answer.content.decode()
    assert AuditEntry.objects.get().outcome == "Failed"


def test_a_code_is_good_once(provider):
    know(provider, "kim", email="kim@example.org")
    client = Client()
    back = consent(client.get(START).headers["Location"], "kim")
    assert client.get(f"{back.path}?{back.query}").status_code == 302

    assert Client().get(f"{back.path}?{back.query}").status_code == 502
    assert client.get(f"{back.path}?{back.query}").status_code == 502


def test_where_to_go_after_is_on_this_site_only(provider):
    know(provider, "joe", email="joe@example.org")

    _client, answer = sign_in("joe", path=f"{START}?next=https://evil.example/")

    assert answer.headers["Location"] == "/"


def test_a_provider_that_is_down_is_said_and_nothing_breaks(db, settings):
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = f"http://127.0.0.1:{free_port()}", "muster"

    answer = Client().get(START)

    assert answer.status_code == 502
    assert "127.0.0.1" not in re.sub(r"<[^>]+>", "", answer.content.decode())


def test_without_a_provider_there_is_no_way_through_one(db):
    assert Client().get(START).status_code == 404
    assert "provider" not in Client().get("/account/login").content.decode()


def test_the_sign_in_page_offers_the_provider(provider):
    assert 'href="/account/provider?next=/"' in Client().get("/account/login").content.decode()


def test_people_of_the_provider_have_no_password_here(provider):
    know(provider, "lee", email="lee@example.org")
    sign_in("lee")

    answer = Client().post("/account/login", {"email": "lee@example.org", "password": ""})

    assert answer.status_code == 422
    assert make_user("local").has_usable_password() is False


def test_a_provider_that_changed_its_keys_is_believed_at_once(settings, db):
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "muster", "a client's secret"
    port = free_port()
    for name in ("one", "two"):
        with running(port) as url:
            settings.OIDC_ISSUER = url
            know(url, name, email=f"{name}@example.org")
            _client, answer = sign_in(name)
        assert answer.status_code == 302, name


@contextmanager
def serving(document):
    """A server that answers every GET with this document."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("document", [{"issuer": "https://evil.example"}, {}, {"issuer": 7}])
def test_a_provider_that_gives_itself_out_as_another_one_is_not_gone_to(db, settings, document):
    endpoints = {"authorization_endpoint": "https://evil.example/a", "token_endpoint": "https://evil.example/t"}
    with serving({**endpoints, **document}) as url:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = url, "muster"
        answer = Client().get(START)

    assert answer.status_code == 502
    assert "calls itself" in AuditEntry.objects.get().reason


def test_a_provider_whose_document_is_a_list_is_not_gone_to(db, settings):
    with serving([]) as url:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = url, "muster"

        assert Client().get(START).status_code == 502


def test_a_provider_that_names_no_page_to_sign_in_on_is_not_gone_to(db, settings):
    document = {}
    with serving(document) as url:
        document["issuer"] = url
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = url, "muster"

        assert Client().get(START).status_code == 502


def test_only_what_is_said_of_the_same_person_is_put_together():
    """OpenID Connect Core 5.3.2: the sub claims must be the same, else nothing of UserInfo may be used."""
    token = {"sub": "lin", "email": "lin@example.org"}

    assert joined(token, {"sub": "lin", "email": "x@example.org", "groups": ["a"]}) == {**token, "groups": ["a"]}
    assert joined(token, None) == token
    with pytest.raises(ProviderFailed, match="somebody else"):
        joined(token, {"sub": "mei", "groups": ["admins"]})
    with pytest.raises(ProviderFailed, match="somebody else"):
        joined(token, {"groups": ["admins"]})
    with pytest.raises(ProviderFailed, match="no ID token"):
        joined(None, {"sub": "lin", "email": "lin@example.org"})


@pytest.mark.parametrize("verified", ["false", "no", 0, None])
def test_an_address_that_is_not_said_to_be_verified_in_so_many_words_signs_nobody_in(provider, verified):
    know(provider, "al", email="al@example.org", email_verified=verified)

    _client, answer = sign_in("al")

    assert answer.status_code == 502
    assert not User.objects.exists()


def test_the_address_to_come_back_to_is_never_that_of_another_host(provider):
    """A made-up Host header gets no redirect_uri, and no link, to where it points."""
    answer = Client().get(START, headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert "evil.example" not in answer.headers.get("Location", "")


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["another"]},
        {"aud": ["another"], "azp": "muster"},
        {"aud": "another", "azp": "muster"},
        {"aud": ["muster", "another"], "azp": "another"},
        {"aud": []},
        {"exp": 1},
        {"iat": 4102444800},
        {"nbf": 4102444800},
        {"iss": "https://id.example.org"},
        {"nonce": "another"},
        {"nonce": None},
    ],
    ids=str,
)
def test_a_token_for_another_client_time_or_browser_signs_nobody_in(provider, claims):
    know(provider, "ann", email="ann@example.org", **claims)

    _client, answer = sign_in("ann")

    assert answer.status_code == 502
    assert not User.objects.exists()
