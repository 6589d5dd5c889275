"""People, service accounts and access keys by REST: secrets are shown once, everything of theirs can be ended."""

import json

import pytest
from django.test import Client

from accounts.models import AccessKey, AuditEntry, User
from tests.conftest import make_user


def call(client, method, path, **body):
    data = json.dumps(body) if body else None
    return getattr(client, method)(f"/api{path}", data=data, content_type="application/json")


def token_of(client_id, secret):
    answer = call(
        Client(), "post", "/v1/token", grantType="client_credentials", clientID=client_id, clientSecret=secret
    )
    return answer.json().get("accessToken")


def bearer(token):
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def api(admin, client_of):
    return client_of(admin)


def test_a_person_is_made_with_a_password_that_is_shown_once(api):
    made = call(api, "post", "/v1/users", email="Lin@example.org")

    assert made.status_code == 201
    body = made.json()
    assert set(body) == {"id", "username", "tempPassword", "tempPasswordExpiresAt"}
    shown = call(api, "get", f"/v1/users/{body['id']}").json()
    assert (shown["username"], shown["isLocal"], shown["createdBy"]) == ("lin@example.org", True, "admin@example.org")
    assert body["tempPassword"] not in json.dumps(shown)
    assert User.objects.get(pk=body["id"]).check_password(body["tempPassword"])
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.after) == ("create", {"email": "lin@example.org", "name": "", "password": "changed"})


def test_people_are_listed_filtered_and_counted(api, admin):
    for name in ("lin", "mei"):
        make_user(name)

    listed = call(api, "get", "/v1/users?sortBy=username&sortOrder=desc").json()
    assert [user["username"] for user in listed] == ["mei@example.org", "lin@example.org", "admin@example.org"]
    assert call(api, "get", "/v1/users/count?filterBy=username=@li,isLocal==true").json() == {"count": 1}
    assert [user["username"] for user in call(api, "get", "/v1/users?search=mei").json()] == ["mei@example.org"]


def test_the_same_address_twice_is_a_conflict_and_no_address_is_named(api):
    make_user("lin")

    assert call(api, "post", "/v1/users", email="lin@example.org").status_code == 409
    refused = call(api, "post", "/v1/users", email="lin")
    assert (refused.status_code, refused.json()["faults"][0]["field"]) == (400, "email")


@pytest.mark.parametrize("field", ["id", "isLocal", "groups", "createdBy", "is_active", "kind", "password"])
def test_fields_that_are_not_to_be_set_are_refused(api, field):
    refused = call(api, "post", "/v1/users", email="lin@example.org", **{field: "x"})

    assert (refused.status_code, refused.json()["faults"][0]["field"]) == (400, field)
    assert not User.objects.filter(email="lin@example.org").exists()


def test_a_forced_logout_ends_sessions_and_tokens(api, client_of):
    person = make_user("lin")
    page = client_of(person)
    key, secret = made_key(page)
    token = token_of(key["clientId"], secret)
    assert bearer(token).get("/api/v1/authorization/permissions").status_code == 200
    assert page.get("/api/v1/authorization/permissions").status_code == 200

    assert call(api, "post", f"/v1/users/{person.pk}/logout").status_code == 200

    assert bearer(token).get("/api/v1/authorization/permissions").status_code == 401
    assert page.get("/api/v1/authorization/permissions").status_code == 401


def made_key(client, name="ci"):
    body = call(client, "post", "/v1/access-keys", name=name).json()
    return body, body.pop("clientSecret")


def test_a_key_has_the_rights_of_its_owner_and_its_secret_is_shown_once(client_of, viewer):
    page = client_of(viewer)
    key, secret = made_key(page)

    stored = AccessKey.objects.get()
    assert secret.startswith(stored.prefix)
    assert secret not in (stored.secret_hash, stored.prefix)
    assert secret not in page.get("/api/v1/access-keys").content.decode()
    token = bearer(token_of(key["clientId"], secret))
    assert token.get("/api/v1/clusters").status_code == 200
    assert token.post("/api/v1/org-unit/departments", "{}", content_type="application/json").status_code in (400, 403)
    assert page.get(f"/api/v1/access-keys/{key['id']}").json()["lastLogin"] is not None


def test_a_new_secret_ends_the_old_one_and_its_tokens(client_of, viewer):
    page = client_of(viewer)
    key, old = made_key(page)
    before = token_of(key["clientId"], old)

    new = call(page, "post", f"/v1/access-keys/{key['id']}/secret").json()["clientSecret"]

    assert token_of(key["clientId"], old) is None
    assert bearer(before).get("/api/v1/clusters").status_code == 401
    assert bearer(token_of(key["clientId"], new)).get("/api/v1/clusters").status_code == 200


def test_a_revoked_key_ends_with_its_tokens(client_of, viewer):
    page = client_of(viewer)
    key, secret = made_key(page)
    token = token_of(key["clientId"], secret)
    assert bearer(token).get("/api/v1/clusters").status_code == 200

    assert call(page, "delete", f"/v1/access-keys/{key['id']}").status_code == 204

    assert bearer(token).get("/api/v1/clusters").status_code == 401
    assert token_of(key["clientId"], secret) is None
    assert page.get(f"/api/v1/access-keys/{key['id']}").status_code == 404


def test_a_key_that_is_over_gives_no_token(client_of, viewer):
    page = client_of(viewer)

    refused = call(page, "post", "/v1/access-keys", name="ci", expiresAt="2020-01-01T00:00:00Z")
    made = call(page, "post", "/v1/access-keys", name="ci", expiresAt="2099-01-01T00:00:00Z").json()
    token = token_of(made["clientId"], made["clientSecret"])
    AccessKey.objects.update(expires_at="2026-01-01T00:00:00Z")

    assert refused.status_code == 400
    assert token is not None
    assert token_of(made["clientId"], made["clientSecret"]) is None


def test_keys_of_others_are_absent_but_for_who_administrates_them(api, client_of, viewer):
    key, _secret = made_key(client_of(viewer))

    assert call(api, "get", f"/v1/access-keys/{key['id']}").status_code == 404
    listed = call(api, "get", "/v1/administration/access-keys?createdBy=viewer@example.org").json()["accessKeys"]
    assert [(each["id"], each["createdBy"]) for each in listed] == [(key["id"], "viewer@example.org")]
    assert call(client_of(viewer), "get", "/v1/administration/access-keys").status_code == 403
    assert call(api, "delete", f"/v1/administration/access-keys/{key['id']}").status_code == 204


def test_a_service_account_works_with_its_own_access_rules_only(api, cluster):
    made = call(api, "post", "/v1/service-accounts", name="deploy-bot").json()
    account = bearer(token_of(made["clientId"], made["clientSecret"]))
    assert account.get("/api/v1/clusters").status_code == 403

    rule = {
        "subjectId": "deploy-bot",
        "subjectType": "service-account",
        "roleId": 5,
        "scopeId": "1",
        "scopeType": "tenant",
    }
    assert call(api, "post", "/v1/authorization/access-rules", **rule).status_code == 201

    assert [each["name"] for each in account.get("/api/v1/clusters").json()] == ["cluster-a"]
    assert call(account, "post", "/v1/access-keys", name="more").status_code == 409


def test_a_service_account_that_is_switched_off_is_off_at_once(api):
    made = call(api, "post", "/v1/service-accounts", name="deploy-bot").json()
    token = token_of(made["clientId"], made["clientSecret"])
    assert bearer(token).get("/api/v1/authorization/permissions").status_code == 200

    assert call(api, "patch", f"/v1/service-accounts/{made['id']}", enabled=False).status_code == 200

    assert call(api, "get", f"/v1/service-accounts/{made['id']}").json()["enabled"] is False
    assert bearer(token).get("/api/v1/authorization/permissions").status_code == 401
    assert token_of(made["clientId"], made["clientSecret"]) is None


def test_a_service_account_cannot_sign_in_by_password(api):
    call(api, "post", "/v1/service-accounts", name="deploy-bot")
    User.objects.filter(name="deploy-bot").update(password=make_user("lin").password)

    answer = Client().post("/account/login", {"email": "deploy-bot@service-account", "password": "x"})

    assert answer.status_code == 422


def test_the_older_names_of_the_paths_answer_in_the_older_shapes(api):
    made = call(api, "post", "/v1/apps", name="deploy-bot").json()
    own = call(api, "post", "/v1/user-applications", name="laptop").json()

    assert set(made) == {"id", "name", "clientId", "secret"}
    assert set(own) == {"id", "name", "clientId", "createdAt", "secret"}
    assert [each["name"] for each in call(api, "get", "/v1/apps").json()] == ["deploy-bot"]
    assert [each["name"] for each in call(api, "get", "/v1/user-applications").json()] == ["laptop"]


def test_ones_own_password_needs_the_old_one_and_a_good_new_one(db, client_of):
    person = make_user("lin")
    person.set_password("a good old password")
    person.save()
    page = client_of(person)
    change = "/v1/me/password"

    wrong = call(page, "post", change, currentPassword="x", newPassword="a good new password")
    short = call(page, "post", change, currentPassword="a good old password", newPassword="short")
    good = call(page, "post", change, currentPassword="a good old password", newPassword="a good new password")

    assert [answer.status_code for answer in (wrong, short, good)] == [400, 400, 200]
    assert (wrong.json()["faults"][0]["field"], short.json()["faults"][0]["field"]) == (
        "currentPassword",
        "newPassword",
    )
    assert User.objects.get(pk=person.pk).check_password("a good new password")


def test_the_last_administrator_stays(api, admin):
    assert call(api, "delete", f"/v1/users/{admin.pk}").status_code == 409
    rule = admin.access_rules.get()
    assert call(api, "delete", f"/v1/authorization/access-rules/{rule.pk}").status_code == 409
