"""The identity provider of the installation, in Run:ai's shape."""

import json

import pytest

SECRET = "a-secret-of-the-provider"


@pytest.fixture
def provider(settings):
    settings.OIDC_ISSUER = "https://id.example.org"
    settings.OIDC_CLIENT_ID = "muster"
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OIDC_GROUPS_CLAIM = "teams"


def test_the_configured_provider_is_listed_without_its_secret(api, provider):
    answer = api.get("/api/v1/idps")
    (shown,) = answer.json()
    assert (shown["alias"], shown["type"], shown["oidcData"]["clientId"]) == ("oidc", "oidc", "muster")
    assert shown["mappers"] == {"alias": "oidc", "email": "email", "groups": "teams"}
    assert shown["redirectUri"].startswith("http://testserver/account/")
    assert SECRET not in json.dumps(shown)
    assert api.get("/api/v1/idps/oidc").json() == shown
    assert api.get("/api/v1/idps/oidc/mappers").json() == shown["mappers"]


def test_without_a_provider_the_list_is_empty_and_no_alias_is_known(api, settings):
    settings.OIDC_ISSUER = ""
    assert api.get("/api/v1/idps").json() == []
    assert api.get("/api/v1/idps/oidc").status_code == 404


def test_who_may_not_read_the_security_settings_is_told_the_right(client_of, researcher, provider):
    answer = client_of(researcher).get("/api/v1/idps")
    assert answer.status_code == 403
    assert "security-settings:read" in answer.content.decode()


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_provider_is_not_changed_by_a_request(send, provider, method):
    assert send(method, "/api/v1/idps/oidc", {}).status_code == 501
