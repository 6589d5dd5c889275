"""Tokens, anonymous requests, RBAC and reviews, over HTTP."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusters.kinds import NAMESPACE, POD, SECRET, SERVICE_ACCOUNT
from simulator.api.server import Server
from simulator.client import Object
from tests.simulator.api.conftest import Http, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
DENIED = (
    'pods is forbidden: User "system:serviceaccount:default:ci" cannot list resource "pods" in API group "" '
    'in the namespace "default"'
)


def token_of(http: Http, name: str = "ci", **spec: Any) -> str:
    path = SERVICE_ACCOUNT.path("default", name) + "/token"
    answer = http.ask("POST", path, {"spec": spec})
    assert answer.status == 201
    return str(answer.json["status"]["token"])


def bind_role(http: Http, *rules: Object, cluster: bool = False) -> None:
    scope = "" if cluster else "/namespaces/default"
    role, binding = ("clusterroles", "clusterrolebindings") if cluster else ("roles", "rolebindings")
    kind = "ClusterRole" if cluster else "Role"
    http.ask("POST", f"{RBAC}{scope}/{role}", {"metadata": {"name": "r"}, "rules": list(rules)})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "r"}
    subject = {"kind": "ServiceAccount", "name": "ci", "namespace": "default"}
    body = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}
    assert http.ask("POST", f"{RBAC}{scope}/{binding}", body).status == 201


def review(http: Http, token: str, **attributes: str) -> Object:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = {"spec": {"resourceAttributes": attributes}}
    answer = http.ask("POST", path, body, Authorization=f"Bearer {token}")
    assert answer.status == 201
    return dict(answer.json["status"])


def test_a_token_nobody_gave_out_is_401(http: Http) -> None:
    answer = http.ask("GET", POD.path("default"), Authorization="Bearer made-up")

    assert answer.status == 401
    assert answer.json == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
    }  # fmt: skip


@pytest.mark.parametrize("header", ["Basic YWRtaW46YQ==", "Bearer "])
def test_other_credentials_are_401(http: Http, header: str) -> None:
    assert http.ask("GET", POD.path("default"), Authorization=header).status == 401


def test_without_a_token_one_is_anonymous(http: Http) -> None:
    answer = http.ask("GET", POD.path("default"), Authorization="")

    assert (answer.status, answer.json["reason"]) == (403, "Forbidden")
    assert answer.json["message"] == (
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace '
        '"default"'
    )
    assert http.ask("GET", "/version", Authorization="").status == 200
    assert http.ask("GET", "/readyz", Authorization="").raw == b"ok"


def test_a_service_account_may_do_what_its_role_says_and_no_more(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    authorization = f"Bearer {token_of(http)}"
    before = http.ask("GET", POD.path("default"), Authorization=authorization)
    bind_role(http, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})

    assert (before.status, before.json["message"]) == (403, DENIED)
    assert before.json["details"] == {"kind": "pods"}
    assert http.ask("GET", POD.path("default"), Authorization=authorization).status == 200
    assert http.ask("GET", POD.path("default") + "?watch=1", Authorization=authorization).status == 403
    assert http.ask("POST", POD.path("default"), pod("p"), Authorization=authorization).status == 403
    assert http.ask("GET", POD.path("kube-public"), Authorization=authorization).status == 403
    assert http.ask("GET", POD.path(), Authorization=authorization).status == 403


def test_subresources_and_names_are_rights_of_their_own(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    http.create(POD, pod("a"), "default")
    authorization = f"Bearer {token_of(http)}"
    bind_role(
        http,
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    )

    assert http.ask("GET", POD.path("default", "a"), Authorization=authorization).status == 200
    assert http.ask("GET", POD.path("default", "b"), Authorization=authorization).status == 403
    assert http.ask("GET", POD.path("default", "a") + "/log", Authorization=authorization).status == 400
    denied = http.ask("PATCH", POD.path("default", "a") + "/status", {}, Authorization=authorization)
    assert 'cannot patch resource "pods/status" in API group ""' in denied.json["message"]


def test_a_cluster_role_binding_reaches_everywhere(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    authorization = f"Bearer {token_of(http)}"
    bind_role(http, {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}, cluster=True)

    assert http.ask("GET", NAMESPACE.path(), Authorization=authorization).status == 200
    assert http.ask("GET", POD.path(), Authorization=authorization).status == 200
    assert http.ask("DELETE", NAMESPACE.path(None, "default"), Authorization=authorization).status == 403


def test_reviews_say_what_a_request_would_get(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    bind_role(http, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
    token = token_of(http)

    assert review(http, token, verb="list", resource="pods", namespace="default") == {
        "allowed": True, "reason": 'RBAC: allowed by RoleBinding "b/default"',
    }  # fmt: skip
    assert review(http, token, verb="list", resource="pods") == {"allowed": False}
    rules = http.ask(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        {"spec": {"namespace": "default"}},
        Authorization=f"Bearer {token}",
    ).json["status"]
    assert {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]} in rules["resourceRules"]


def test_who_am_i(http: Http) -> None:
    answer = http.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})

    assert answer.json["status"]["userInfo"]["username"] == "kubernetes-admin"


def test_a_token_dies_with_its_account_even_if_one_of_that_name_is_made_anew(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    authorization = f"Bearer {token_of(http)}"
    http.ask("DELETE", SERVICE_ACCOUNT.path("default", "ci"))
    gone = http.ask("GET", "/version", Authorization=authorization)
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")

    assert gone.status == http.ask("GET", "/version", Authorization=authorization).status == 401


def test_a_token_expires(http: Http, server: Server) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    server.time = lambda: datetime.now(UTC) - timedelta(seconds=1200)
    token = token_of(http, expirationSeconds=600)

    assert http.ask("GET", "/version", Authorization=f"Bearer {token}").status == 401


def test_a_token_shorter_than_ten_minutes_is_refused(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    path = SERVICE_ACCOUNT.path("default", "ci") + "/token"
    answer = http.ask("POST", path, {"spec": {"expirationSeconds": 60}})

    assert answer.status == 422
    assert "may not specify a duration less than 10 minutes" in answer.json["message"]


def test_a_token_secret_is_filled_and_revoked_with_it(http: Http) -> None:
    http.create(SERVICE_ACCOUNT, {"metadata": {"name": "ci"}}, "default")
    annotations = {"kubernetes.io/service-account.name": "ci"}
    metadata = {"name": "ci-token", "annotations": annotations}
    made = http.create(SECRET, {"metadata": metadata, "type": "kubernetes.io/service-account-token"}, "default").json
    token = base64.b64decode(made["data"]["token"]).decode()
    me = http.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, Authorization=f"Bearer {token}")
    http.ask("DELETE", SECRET.path("default", "ci-token"))

    assert me.json["status"]["userInfo"]["username"] == "system:serviceaccount:default:ci"
    assert base64.b64decode(made["data"]["namespace"]) == b"default"
    assert http.ask("GET", "/version", Authorization=f"Bearer {token}").status == 401


def test_a_pod_of_an_unknown_service_account_is_refused(http: Http) -> None:
    answer = http.create(POD, pod("p", serviceAccountName="nobody"), "default")

    assert answer.status == 403
    assert answer.json["message"] == (
        'pods "p" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found'
    )
