"""The security settings take effect: idle sessions end, sign-in leads to the provider, sign-out to an address."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts import tokens
from accounts.models import AuditEntry, User

SETTINGS = "/api/v1/security/settings"
PASSWORD = "correct horse battery"


@pytest.fixture
def api(admin):
    """By token: no session of its own."""
    client = Client(headers={"Authorization": f"Bearer {tokens.issue(admin).access}"})

    def ask(method, key, body=None, **headers):
        return client.generic(
            method, f"{SETTINGS}/{key}", json.dumps(body or {}), content_type="application/json", headers=headers
        )

    return ask


@pytest.fixture
def browser(db, settings):
    """Somebody who signed in at the page."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("ada@example.org", PASSWORD)
    client = Client()
    assert client.post("/account/login", {"email": "ada@example.org", "password": PASSWORD}).status_code == 302
    return client


@pytest.fixture
def provider(settings):
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = "https://id.example.org", "muster"


def later(**time):
    return time_machine.travel(timezone.now() + timedelta(**time), tick=False)


def is_in(client, path="/account/rights", **headers):
    return client.get(path, headers=headers).status_code == 200


def test_an_unused_session_ends_after_the_idle_time_and_a_used_one_goes_on(api, browser):
    assert api("PUT", "browserSessionTimeout", {"idleTimeout": 30}).json() == {"idleTimeout": 30}

    with later(minutes=29):
        assert is_in(browser)
    with later(minutes=58):
        assert is_in(browser)
    with later(minutes=88, seconds=1):
        assert not is_in(browser)
    assert not Session.objects.exists()


def test_what_a_page_fetches_by_itself_does_not_keep_the_session(api, browser):
    api("PUT", "browserSessionTimeout", {"idleTimeout": 30})

    with later(minutes=20):
        assert is_in(browser, **{"X-Live-Refresh": "1"})
    with later(minutes=31):
        assert not is_in(browser, **{"X-Live-Refresh": "1"})


def test_without_an_idle_time_a_session_lasts_twelve_hours_whatever_happens_in_it(browser):
    for hours in (4, 8, 11):
        with later(hours=hours):
            assert is_in(browser)
    with later(hours=12, seconds=1):
        assert not is_in(browser)


def test_the_session_of_a_page_is_idle_for_the_api_too(api, browser):
    api("PUT", "browserSessionTimeout", {"idleTimeout": 5})
    path = "/api/v1/authorization/permissions"

    assert is_in(browser, path)
    with later(minutes=6):
        assert browser.get(path).status_code == 401


def test_a_page_within_a_minute_of_its_sign_in_asks_nothing_more(browser, django_assert_max_num_queries):
    browser.get("/account/rights")
    with django_assert_max_num_queries(12) as asked:
        browser.get("/account/rights")
    assert not [query for query in asked.captured_queries if "tenantsetting" in query["sql"]]


def test_the_sign_in_page_leads_to_the_provider_and_stays_where_it_is_asked_to(api, provider):
    answer = api("PUT", "autoRedirectSSO", {"enabled": True, "idpAlias": "oidc"})
    assert answer.json() == {"enabled": True, "idpAlias": "oidc"}

    led = Client().get("/account/login?next=/nodes/%3Fq%3Da")
    assert led.headers["Refresh"] == "0; url=/account/provider?next=%2Fnodes%2F%3Fq%3Da"
    assert "Refresh" not in Client().get("/account/login?local").headers
    assert Client().post("/account/logout").headers["Location"] == "/account/login?local"


def test_a_provider_that_is_configured_no_more_is_not_led_to(api, provider, settings):
    api("PUT", "autoRedirectSSO", {"enabled": True})
    settings.OIDC_ISSUER = ""
    assert "Refresh" not in Client().get("/account/login").headers


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("https://example.org/out", "https://example.org/out"),
        ("example.org:8443/out", "https://example.org:8443/out"),
        ("http://example.org/ä", "http://example.org/%C3%A4"),
    ],
)
def test_after_signing_out_the_browser_goes_where_the_setting_says(api, browser, uri, address):
    assert api("PUT", "logoutRedirectUri", {"uri": uri}).json() == {"uri": uri}

    answer = browser.post("/account/logout")

    assert (answer.status_code, answer.headers["Refresh"]) == (200, f"0; url={address}")
    assert f'href="{address}"' in answer.content.decode()
    assert not is_in(browser)
    assert api("PUT", "logoutRedirectUri", {"uri": ""}).json() == {"uri": None}
    assert browser.post("/account/logout").headers["Location"] == "/account/login"


def test_all_are_listed_and_each_has_its_etag(api, admin):
    client = Client(headers={"Authorization": f"Bearer {tokens.issue(admin).access}"})
    assert client.get(SETTINGS).json() == {
        "autoRedirectSSO": {"enabled": False, "idpAlias": None},
        "browserSessionTimeout": {"idleTimeout": None},
        "logoutRedirectUri": {"uri": None},
    }
    read = api("GET", "browserSessionTimeout").headers["ETag"]
    api("PUT", "browserSessionTimeout", {"idleTimeout": 10})
    assert api("PUT", "browserSessionTimeout", {"idleTimeout": 20}, **{"If-Match": read}).status_code == 412
    changed = AuditEntry.objects.get(action="update")
    assert (changed.before, changed.after) == ({"idleTimeout": None}, {"idleTimeout": 10})


@pytest.mark.parametrize(
    ("key", "body", "field"),
    [
        ("browserSessionTimeout", {"idleTimeout": 0}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": 721}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": 1.5}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": "30"}, "idleTimeout"),
        ("browserSessionTimeout", {"idleTimeout": 1e400}, "idleTimeout"),
        ("browserSessionTimeout", {"uri": "x"}, "uri"),
        ("autoRedirectSSO", {"enabled": True}, "enabled"),
        ("autoRedirectSSO", {"enabled": False, "idpAlias": "saml"}, "idpAlias"),
        ("logoutRedirectUri", {"uri": "javascript:alert(1)"}, "uri"),
        ("logoutRedirectUri", {"uri": "https://example.org/a b"}, "uri"),
        ("logoutRedirectUri", {"uri": "https://example.org/\r\nX: y"}, "uri"),
    ],
)
def test_what_would_have_no_effect_is_400_naming_the_field(api, key, body, field):
    answer = api("PUT", key, body)
    assert answer.status_code == 400
    if "inf" not in str(body):
        assert answer.json()["faults"][0]["field"] == field


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_unknown_key_is_404_in_the_common_shape(api, method):
    answer = api(method, "passwordPolicy")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)
