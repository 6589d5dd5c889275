"""Service accounts and what they may: tokens, RBAC, what a refusal says."""

import pytest

from tests.contract.client import APPLY, MERGE, Answer, Api, until
from tests.contract.steps import config, widget

RULES = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get"]},
    {"apiGroups": ["contract.muster.dev"], "resources": ["widgets/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["patch"]},
]


@pytest.fixture
def robot(api: Api) -> str:
    """The token of an account that may a little in the namespace."""
    api.post("serviceaccounts", {"metadata": {"name": "robot"}})
    api.post("rbac/roles", {"metadata": {"name": "robot"}, "rules": RULES})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot"}
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": api.ns}]
    api.post("rbac/rolebindings", {"metadata": {"name": "robot"}, "roleRef": reference, "subjects": subjects})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = api.post("serviceaccounts/robot/token", request)
    assert answer.status == 201, answer.body
    token = str(answer.body["status"]["token"])
    until(lambda: api.call("GET", "configmaps", token=token), lambda answer: answer.status == 200)
    return token


def test_what_is_granted_works(api: Api, robot: str) -> None:
    assert api.call("GET", "configmaps", token=robot).status == 200
    assert api.call("GET", "secrets/mine", token=robot).status == 404


@pytest.mark.parametrize(
    ("method", "path", "verb", "what"),
    [
        ("POST", "configmaps", "create", 'resource "configmaps" in API group ""'),
        ("GET", "secrets", "list", 'resource "secrets" in API group ""'),
        ("GET", "secrets/other", "get", 'resource "secrets" in API group ""'),
        ("DELETE", "configmaps/a", "delete", 'resource "configmaps" in API group ""'),
        ("DELETE", "configmaps", "deletecollection", 'resource "configmaps" in API group ""'),
        ("PUT", "configmaps/a", "update", 'resource "configmaps" in API group ""'),
        ("GET", "widgets/widgets", "list", 'resource "widgets" in API group "contract.muster.dev"'),
        ("GET", "pods/p/log", "get", 'resource "pods/log" in API group ""'),
    ],
)
def test_a_refusal_names_who_what_and_where(api: Api, robot: str, method: str, path: str, verb: str, what: str) -> None:
    body = config() if method in ("POST", "PUT") else None

    answer = api.call(method, path, body, token=robot)

    assert answer.code == (403, "Forbidden")
    assert answer.message.endswith(
        f' is forbidden: User "system:serviceaccount:{api.ns}:robot" cannot {verb} {what} in the namespace "{api.ns}"'
    )


def test_a_refusal_across_the_cluster_says_so(api: Api, robot: str) -> None:
    answer = api.call("GET", "/api/v1/configmaps", token=robot)

    assert answer.message == (
        f'configmaps is forbidden: User "system:serviceaccount:{api.ns}:robot" cannot list resource "configmaps" in '
        'API group "" at the cluster scope'
    )
    assert answer.body["details"] == {"kind": "configmaps"}


def test_a_refusal_of_a_named_object_names_it(api: Api, robot: str) -> None:
    answer = api.call("GET", "/api/v1/nodes/n1", token=robot)

    assert answer.message == (
        f'nodes "n1" is forbidden: User "system:serviceaccount:{api.ns}:robot" cannot get resource "nodes" in API '
        'group "" at the cluster scope'
    )
    assert answer.body["details"] == {"name": "n1", "kind": "nodes"}


def test_a_watch_needs_its_own_right(api: Api, robot: str) -> None:
    answer = api.call("GET", "configmaps", query={"watch": "true"}, token=robot)

    assert answer.status == 403
    assert " cannot watch resource " in answer.message


def test_a_subresource_needs_its_own_right(api: Api, robot: str) -> None:
    api.post("widgets/widgets", widget())
    merge = {"type": MERGE, "token": robot}

    assert api.call("PATCH", "widgets/widgets/w/status", {"status": {"phase": "x"}}, **merge).status == 200
    assert api.call("PATCH", "widgets/widgets/w", {"spec": {"colour": "blue"}}, **merge).status == 403


def test_to_apply_what_is_not_there_needs_the_right_to_create_it(api: Api, robot: str) -> None:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}}
    query = {"fieldManager": "robot"}

    applied = api.call("PATCH", "serviceaccounts/s", body, query, type=APPLY, token=robot)
    patched = api.call("PATCH", "serviceaccounts/s", body, query, type=MERGE, token=robot)

    assert applied.code == (403, "Forbidden")
    assert ' cannot create resource "serviceaccounts" in API group ""' in applied.message
    assert patched.code == (404, "NotFound")


def test_an_access_review_says_the_same(api: Api, robot: str) -> None:
    def may(**attributes: str) -> bool:
        spec = {"resourceAttributes": {"namespace": api.ns, "group": "", **attributes}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = api.call("POST", path, {"spec": spec}, token=robot)
        assert answer.status == 201
        return bool(answer.body["status"]["allowed"])

    assert may(verb="list", resource="configmaps")
    assert not may(verb="watch", resource="configmaps")
    assert not may(verb="list", resource="secrets")
    assert may(verb="get", resource="secrets", name="mine")
    assert not may(verb="get", resource="secrets", name="other")
    assert may(verb="patch", group="contract.muster.dev", resource="widgets", subresource="status")
    assert not may(verb="patch", group="contract.muster.dev", resource="widgets")


def test_who_am_i(api: Api, robot: str) -> None:
    answer = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=robot)

    info = answer.body["status"]["userInfo"]
    assert info["username"] == f"system:serviceaccount:{api.ns}:robot"
    assert {"system:serviceaccounts", f"system:serviceaccounts:{api.ns}", "system:authenticated"} <= set(info["groups"])


def test_the_token_of_a_deleted_account_is_refused(api: Api, robot: str) -> None:
    api.delete("serviceaccounts/robot")

    answer = until(lambda: api.call("GET", "configmaps", token=robot), lambda answer: answer.status != 200)
    assert answer.code == (401, "Unauthorized")
    assert answer.message == "Unauthorized"


def test_a_secret_of_the_token_type_is_filled_in(api: Api) -> None:
    api.post("serviceaccounts", {"metadata": {"name": "lasting"}})
    annotations = {"kubernetes.io/service-account.name": "lasting"}
    secret = {
        "metadata": {"name": "lasting-token", "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }
    assert api.post("secrets", secret).status == 201

    live = api.await_answer("secrets/lasting-token", lambda answer: "token" in (answer.body.get("data") or {}))
    assert set(live.body["data"]) == {"ca.crt", "namespace", "token"}
    assert "kubernetes.io/service-account.uid" in live.meta["annotations"]


def test_a_token_for_somebody_else_is_refused(api: Api) -> None:
    api.post("serviceaccounts", {"metadata": {"name": "robot"}})
    request = {"spec": {"expirationSeconds": 3600, "audiences": ["https://elsewhere.example"]}}
    token = str(api.post("serviceaccounts/robot/token", request).body["status"]["token"])

    answer = api.call("GET", "configmaps", token=token)

    assert answer.code == (401, "Unauthorized")


def test_nobody_may_what_only_the_known_may(api: Api) -> None:
    answer = api.call("GET", "configmaps", token="")

    assert answer.code == (403, "Forbidden")
    assert answer.message == (
        'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the '
        f'namespace "{api.ns}"'
    )
    assert api.call("GET", "/healthz", token="").status == 200
    assert api.call("GET", "/version", token="").status == 200


@pytest.mark.parametrize("token", ["wrong", "a.b.c"])
def test_a_token_that_nobody_gave_out_is_refused_everywhere(api: Api, token: str) -> None:
    for path in ("configmaps", "/version", "/apis", "/openapi/v3", "/healthz"):
        assert api.call("GET", path, token=token).code == (401, "Unauthorized"), path


RBAC = "rbac.authorization.k8s.io"
GRANTING = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
    {"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "patch"]},
]
MORE = [
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "delete"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["a"], "verbs": ["get"]},
]


@pytest.fixture
def granting(api: Api, robot: str) -> Api:
    """The robot may read config maps, and write roles."""
    assert api.call("PUT", "rbac/roles/robot", {"metadata": {"name": "robot"}, "rules": GRANTING}).status == 200
    own = {"metadata": {"name": "own"}, "rules": GRANTING[:1]}
    until(
        lambda: api.call("POST", "rbac/roles", own, {"dryRun": "All"}, token=robot), lambda answer: answer.status == 201
    )
    return api


def test_nobody_grants_what_they_do_not_hold(granting: Api, robot: str) -> None:
    same = {"metadata": {"name": "same"}, "rules": GRANTING[:1]}
    assert granting.call("POST", "rbac/roles", same, token=robot).status == 201

    refused = [
        granting.call("POST", "rbac/roles", {"metadata": {"name": "more"}, "rules": MORE}, token=robot),
        granting.call("PATCH", "rbac/roles/same", {"rules": MORE}, type=MERGE, token=robot),
    ]

    groups = f'["system:serviceaccounts" "system:serviceaccounts:{granting.ns}" "system:authenticated"]'
    said = (
        f'is forbidden: user "system:serviceaccount:{granting.ns}:robot" (groups={groups}) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}'
    )
    assert [answer.code for answer in refused] == [(403, "Forbidden")] * 2
    assert [answer.message for answer in refused] == [f'roles.{RBAC} "{name}" {said}' for name in ("more", "same")]


def test_nobody_binds_a_role_that_grants_more_than_they_hold(granting: Api, robot: str) -> None:
    granting.post("rbac/roles", {"metadata": {"name": "more"}, "rules": MORE})
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": granting.ns}]

    def bind(name: str, role: str) -> Answer:
        reference = {"apiGroup": RBAC, "kind": "Role", "name": role}
        body = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        return granting.call("POST", "rbac/rolebindings", body, token=robot)

    refused = bind("escalating", "more")

    assert bind("again", "robot").status == 201
    assert refused.code == (403, "Forbidden")
    assert "is attempting to grant RBAC permissions not currently held:\n" in refused.message
    assert refused.message.startswith(f'rolebindings.{RBAC} "escalating" is forbidden: user ')


@pytest.mark.parametrize(("verb", "path"), [("escalate", "roles"), ("bind", "rolebindings")])
def test_who_may_escalate_or_bind_may_grant_everything(granting: Api, robot: str, verb: str, path: str) -> None:
    granting.post("rbac/roles", {"metadata": {"name": "more"}, "rules": MORE})
    rules = [*GRANTING, {"apiGroups": [RBAC], "resources": ["roles"], "verbs": [verb]}]
    granting.call("PUT", "rbac/roles/robot", {"metadata": {"name": "robot"}, "rules": rules})
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "more"}
    body = {"rules": MORE} if path == "roles" else {"roleRef": reference, "subjects": []}

    answer = until(
        lambda: granting.call("POST", f"rbac/{path}", {"metadata": {"name": "new"}, **body}, token=robot),
        lambda answer: answer.status == 201,
    )

    assert answer.status == 201
