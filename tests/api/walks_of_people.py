"""The walks of people, keys, roles, rules and tokens: each write is followed by the GET that shows its effect."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from tests.api.tour import AUTHORIZATION, ORG, V1, Tour, Walk, walk
from tests.conftest import make_user

PASSWORD, OTHER_PASSWORD = "the first of two passwords", "the second of two passwords"
PERMISSIONS = [{"resourceType": "project", "actions": ["read"]}]
SERVICE_ACCOUNTS = (f"{V1}/service-accounts", f"{V1}/apps")
KEYS = (f"{V1}/access-keys", f"{V1}/user-applications")
RULES = f"{AUTHORIZATION}/access-rules"


def rule_of(subject: str) -> dict[str, Any]:
    return {"subjectId": subject, "subjectType": "group", "roleId": 8, "scopeType": "tenant", "scopeId": "1"}


@walk("POST /api/v1/authorization/access-rules")
def _(tour: Tour) -> None:
    made = tour("POST", RULES, rule_of("readers"))
    assert tour("GET", f"{RULES}/{made['id']}")["subjectId"] == "readers"


@walk("DELETE /api/v1/authorization/access-rules/{accessRuleId}")
def _(tour: Tour) -> None:
    path = f"{RULES}/{tour('POST', RULES, rule_of('readers'))['id']}"
    tour("DELETE", path)
    assert tour.is_gone(path)


@walk("POST /api/v1/authorization/access-rules/batch")
def _(tour: Tour) -> None:
    ids = [tour("POST", RULES, rule_of(name))["id"] for name in ("readers", "writers")]
    done = tour("POST", f"{RULES}/batch", {"ids": ids, "action": "delete"})
    assert done["succeeded"] == [str(id_) for id_ in ids]
    assert all(tour.is_gone(f"{RULES}/{id_}") for id_ in ids)


@walk("POST /api/v1/authorization/access-rules/batch-create")
def _(tour: Tour) -> None:
    subjects = [{"subjectId": name, "subjectType": "group"} for name in ("readers", "writers")]
    payload = {"roleId": 8, "subjects": subjects, "scopes": [{"scopeType": "tenant", "scopeId": "1"}]}
    tour("POST", f"{RULES}/batch-create", {"payload": payload})
    found = tour("GET", f"{RULES}?subjectType=group")["accessRules"]
    assert {rule["subjectId"] for rule in found} == {"readers", "writers"}


@walk("POST /api/v1/authorization/permitted-scopes")
def _(tour: Tour) -> None:
    # It asks and writes nothing: what it says of reading projects is what a GET gives.
    told = tour("POST", f"{AUTHORIZATION}/permitted-scopes", {"resourceType": "project", "action": "read"})
    assert told["read"]["tenants"] == ["1"]
    assert [row["id"] for row in tour("GET", f"{ORG}/projects")["projects"]] == [str(tour.world.project.pk)]


def _new_user(tour: Tour) -> Any:
    return tour("POST", f"{V1}/users", {"email": "ada@example.org"})


@walk("POST /api/v1/users")
def _(tour: Tour) -> None:
    assert tour("GET", f"{V1}/users/{_new_user(tour)['id']}")["username"] == "ada@example.org"


@walk("DELETE /api/v1/users/{userId}")
def _(tour: Tour) -> None:
    path = f"{V1}/users/{_new_user(tour)['id']}"
    tour("DELETE", path)
    assert tour.is_gone(path)


@walk("POST /api/v1/users/{userId}/logout")
def _(tour: Tour) -> None:
    person = _with_password(tour)
    token = tour.token(grantType="password", username=person.email, password=PASSWORD)
    assert tour.opens(token)
    tour("POST", f"{V1}/users/{person.pk}/logout")
    assert not tour.opens(token)
    assert tour("GET", f"{V1}/users/{person.pk}")["username"] == person.email


def _with_password(tour: Tour) -> Any:
    person = make_user("ada")
    person.set_password(PASSWORD)
    person.save()
    return person


@walk("POST /api/v1/users/{userId}/password")
def _(tour: Tour) -> None:
    person = _with_password(tour)
    assert tour.password_opens(person.email, PASSWORD)
    tour("POST", f"{V1}/users/{person.pk}/password")
    assert not tour.password_opens(person.email, PASSWORD)
    assert tour("GET", f"{V1}/users/{person.pk}")["username"] == person.email


@walk("POST /api/v1/me/password")
def _(tour: Tour) -> None:
    person = _with_password(tour)
    own = Tour(Client(), tour.world, tour.asked)
    own.client.force_login(person)
    own("POST", f"{V1}/me/password", {"currentPassword": PASSWORD, "newPassword": OTHER_PASSWORD})
    assert not tour.password_opens(person.email, PASSWORD)
    assert tour.password_opens(person.email, OTHER_PASSWORD)


def _secret(made: Any) -> str:
    return str(made.get("clientSecret") or made["secret"])


def _account_walks(root: str, parameter: str) -> Iterator[tuple[str, Walk]]:
    one = f"{root}/{{{parameter}}}"

    def make(tour: Tour) -> None:
        made = tour("POST", root, {"name": "robot"})
        assert tour("GET", f"{root}/{made['id']}")["clientId"] == made["clientId"]
        assert tour.secret_opens(made["clientId"], _secret(made))

    def delete(tour: Tour) -> None:
        made = tour("POST", root, {"name": "robot"})
        tour("DELETE", f"{root}/{made['id']}")
        assert tour.is_gone(f"{root}/{made['id']}")
        assert not tour.secret_opens(made["clientId"], _secret(made))

    def renew(tour: Tour) -> None:
        made = tour("POST", root, {"name": "robot"})
        renewed = tour("POST", f"{root}/{made['id']}/secret")
        opened = [tour.secret_opens(made["clientId"], _secret(answer)) for answer in (made, renewed)]
        assert opened == [False, True]

    yield f"POST {root}", make
    yield f"DELETE {one}", delete
    yield f"POST {one}/secret", renew
    if root in SERVICE_ACCOUNTS:
        yield f"PATCH {one}", _switched_off(root)
        return
    administration = root.replace(V1, f"{V1}/administration")

    def revoke(tour: Tour) -> None:
        made = tour("POST", root, {"name": "robot"})
        tour("DELETE", f"{administration}/{made['id']}")
        assert made["id"] not in [key["id"] for key in tour.listed(administration)]

    yield f"DELETE {administration}/{{{parameter}}}", revoke


def _switched_off(root: str) -> Walk:
    def switch(tour: Tour) -> None:
        made = tour("POST", root, {"name": "robot"})
        tour("PATCH", f"{root}/{made['id']}", {"enabled": False})
        assert tour("GET", f"{root}/{made['id']}")["enabled"] is False
        assert not tour.secret_opens(made["clientId"], _secret(made))

    return switch


for _root, _parameter in (
    (SERVICE_ACCOUNTS[0], "serviceAccountId"),
    (SERVICE_ACCOUNTS[1], "appId"),
    (KEYS[0], "accessKeyId"),
    (KEYS[1], "appId"),
):
    for _name, _walk in _account_walks(_root, _parameter):
        walk(_name)(_walk)


@walk("POST /api/v1/token")
def _(tour: Tour) -> None:
    person = _with_password(tour)
    grant = {"grantType": "password", "username": person.email, "password": PASSWORD}
    assert tour.opens(tour("POST", f"{V1}/token", grant)["accessToken"])


@walk("POST /api/v2/token")
def _(tour: Tour) -> None:
    person = _with_password(tour)
    form = {"grant_type": "password", "username": person.email, "password": PASSWORD}
    answer = Client().post("/api/v2/token", urlencode(form), content_type="application/x-www-form-urlencoded")
    tour.asked.append(("POST /api/v2/token", answer.status_code))
    assert tour.opens(answer.json()["access_token"])


@walk("POST /api/v2/authorization/roles")
def _(tour: Tour) -> None:
    assert tour("GET", _new_role(tour))["name"] == "reader"


@walk("PUT /api/v2/authorization/roles/{}")
def _(tour: Tour) -> None:
    path = _new_role(tour)
    tour("PUT", path, {"name": "renamed", "permissions": PERMISSIONS})
    assert tour("GET", path)["name"] == "renamed"


@walk("DELETE /api/v2/authorization/roles/{}")
def _(tour: Tour) -> None:
    path = _new_role(tour)
    tour("DELETE", path)
    assert tour.is_gone(path)


def _new_role(tour: Tour) -> str:
    made = tour("POST", "/api/v2/authorization/roles", {"name": "reader", "permissions": PERMISSIONS})
    return f"/api/v2/authorization/roles/{made['id']}"


@walk("PUT /api/v1/security/settings/{key}")
def _(tour: Tour) -> None:
    path = f"{V1}/security/settings"
    tour("PUT", f"{path}/browserSessionTimeout", {"idleTimeout": 30})
    assert tour("GET", path)["browserSessionTimeout"] == {"idleTimeout": 30}
