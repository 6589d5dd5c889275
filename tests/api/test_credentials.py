"""Credentials in Run:ai's five kinds: secrets of projects, written, listed by name, never shown."""

import json

import pytest
from django.db import connection

from organizations.models import ProjectSecret
from organizations.secrets import decrypt

ROOT = "/api/v1/asset/credentials"
SPECS = {
    "generic-secret": ({"keyValuePairs": [{"key": "API_KEY", "value": "canary-1"}]}, {"API_KEY": "canary-1"}),
    "password": ({"user": "ada", "password": "canary-1"}, {"username": "ada", "password": "canary-1"}),
    "access-key": (
        {"accessKeyId": "AKIA", "secretAccessKey": "canary-1"},
        {"AccessKeyId": "AKIA", "SecretKey": "canary-1"},
    ),
    "ngc-api-key": ({"ngc_api_key": "canary-1"}, {"NGC_API_KEY": "canary-1"}),
}
PASSWORD = {"user": "ada", "password": "canary-1"}
DOCKER = {"url": "registry.example.org", "user": "ada", "password": "canary-1"}


def body(project, spec, name="mine", **meta):
    return {"meta": {"name": name, "scope": "project", "projectId": project.pk, **meta}, "spec": spec}


@pytest.mark.parametrize("kind", SPECS)
def test_a_credential_is_made_listed_renamed_overwritten_and_deleted(send, world, kind):
    spec, stored = SPECS[kind]
    made = send("post", f"{ROOT}/{kind}", body(world.project, spec))
    path = f"{ROOT}/{kind}/{made.json()['meta']['id']}"
    shown, listed = send("get", path), send("get", f"{ROOT}/{kind}").json()["entries"]
    every = send("get", ROOT).json()["entries"]
    content = decrypt(ProjectSecret.objects.get().content)
    renamed = send("put", path, {"meta": {"name": "other"}})
    again = send("put", path, {"spec": spec})
    deleted = send("delete", path)

    assert (made.status_code, renamed.status_code, again.status_code) == (202, 202, 202)
    assert content == stored
    assert [e["meta"]["name"] for e in listed] == [e["meta"]["name"] for e in every] == ["mine"]
    assert shown.json() == made.json()
    assert renamed.json()["meta"]["name"] == "other"
    assert deleted.status_code in (202, 204)
    assert send("get", path).status_code == 404
    assert not any("canary-1" in json.dumps(a.json()) for a in (made, shown, renamed, again))


def test_a_credential_is_changed_in_the_state_that_was_read(send, world):
    made = send("post", f"{ROOT}/password", body(world.project, SPECS["password"][0])).json()
    path = f"{ROOT}/password/{made['meta']['id']}"
    read = send("get", path).headers["ETag"]

    answers = [send("put", path, {"meta": {"name": name}}, HTTP_IF_MATCH=read).status_code for name in ("one", "two")]

    assert answers == [202, 412]
    assert send("get", path).json()["meta"]["name"] == "one"


def test_of_two_made_at_once_the_second_overwrites_nothing(send, world):
    """The other one is there as soon as the project is held: in whose transaction this one waited."""
    theirs = {"name": "mine", "kind": "opaque", "content": b"theirs", "keys": ["API_KEY"], "created_by": "other"}
    waited = []

    def make_first(execute, sql, params, many, context):
        holds = sql.startswith(
            ('SELECT "organizations_project"."deletion_requested_at"', 'UPDATE "organizations_project"')
        )
        if holds and not waited:
            waited.append(ProjectSecret.objects.create(project=world.project, **theirs))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(make_first):
        answer = send("post", f"{ROOT}/generic-secret", body(world.project, SPECS["generic-secret"][0]))

    assert (answer.status_code, len(waited)) == (409, 1)


def test_a_registry_becomes_a_docker_configuration(send, world):
    made = send("post", f"{ROOT}/docker-registry", body(world.project, DOCKER))
    content = json.loads(decrypt(ProjectSecret.objects.get().content)[".dockerconfigjson"])

    assert made.status_code == 202
    assert content["auths"]["registry.example.org"]["password"] == "canary-1"
    assert send("get", f"{ROOT}/docker-registry").json()["entries"] == [made.json()]
    assert send("get", f"{ROOT}/generic-secret").json() == {"entries": []}


@pytest.mark.parametrize("name", ["hf-token-secret", "hf-token"])
def test_a_hugging_face_token_gets_both_names_and_keys(send, world, name):
    pairs = {"keyValuePairs": [{"key": "HF_TOKEN", "value": "hf_canary"}]}
    made = send("post", f"{ROOT}/generic-secret", body(world.project, pairs, name=name))
    secret = ProjectSecret.objects.get()

    assert made.status_code == 202
    assert (secret.kind, secret.keys) == ("hugging-face", ["HF_TOKEN", "token"])


def test_a_second_of_the_same_name_is_409(send, world):
    given = body(world.project, SPECS["password"][0])
    assert [send("post", f"{ROOT}/password", given).status_code for _ in range(2)] == [202, 409]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"meta": None}, "meta"),
        ({"spec": None}, "spec"),
        ({"spec": {"keyValuePairs": []}}, "spec.keyValuePairs"),
        ({"spec": {"keyValuePairs": [{"key": "a"}]}}, "spec.keyValuePairs[0]"),
        ({"spec": {"existingSecretName": "x"}}, "spec.existingSecretName"),
        ({"spec": {"colour": 1}}, "spec.colour"),
        ({"meta": {"name": "x", "scope": "team"}}, "meta.scope"),
        ({"meta": {"name": "x", "scope": "department"}}, "meta.departmentId"),
        ({"meta": {"name": "x", "scope": "cluster", "clusterId": "x"}}, "meta.clusterId"),
        ({"meta": {"name": "x", "scope": "tenant", "private": True}}, "meta.private"),
        ({"meta": {"name": "x", "scope": "project", "projectId": 999999}}, "meta.projectId"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_is_wrong_is_named_by_field(send, world, change, field):
    answer = send("post", f"{ROOT}/generic-secret", {**body(world.project, SPECS["generic-secret"][0]), **change})
    assert answer.status_code == 400
    assert answer.json()["faults"][0]["field"] == field


def test_credentials_of_other_projects_are_absent(send, world, client_of, outsider, viewer):
    made = send("post", f"{ROOT}/password", body(world.project, SPECS["password"][0])).json()
    path = f"{ROOT}/password/{made['meta']['id']}"

    assert client_of(outsider).get(ROOT).json() == {"entries": []}
    assert client_of(outsider).get(path).status_code == 404
    assert client_of(viewer).get(ROOT).status_code == 403


@pytest.mark.parametrize(
    "query", ["name=other", "scope=tenant", "projectId=999", "clusterId=d73a738f-fab3-430a-8fa3-5241493d7128"]
)
def test_filters_narrow_the_list(send, world, query):
    send("post", f"{ROOT}/password", body(world.project, SPECS["password"][0]))
    assert send("get", f"{ROOT}?{query}").json() == {"entries": []}


@pytest.mark.parametrize("query", ["projectId=x", "departmentId=", "clusterId=x", "clusterId=", "scope=team"])
def test_what_is_no_id_and_no_scope_is_refused(send, world, query):
    answer = send("get", f"{ROOT}?{query}")

    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["faults"]] == [query.partition("=")[0]]


def test_a_dry_run_writes_nothing(send, world):
    answer = send("post", f"{ROOT}/password?dryRun=true", body(world.project, SPECS["password"][0]))
    assert (answer.status_code, ProjectSecret.objects.count()) == (202, 0)


SCOPES = ("department", "cluster", "tenant")


def meta_of(world, scope, name="shared"):
    ids = {"department": {"departmentId": str(world.department.pk)}, "cluster": {"clusterId": str(world.cluster.pk)}}
    return {"name": name, "scope": scope, **ids.get(scope, {})}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_credential_of_a_wider_scope_is_in_every_project_there(send, world, scope):
    made = send("post", f"{ROOT}/docker-registry", {"meta": meta_of(world, scope), "spec": DOCKER})
    path = f"{ROOT}/docker-registry/{made.json()['meta']['id']}"
    copy = ProjectSecret.objects.get()
    listed = [send("get", f"{ROOT}?scope={one}").json()["entries"] for one in (*SCOPES, "project")]
    renamed = send("put", path, {"meta": {"name": "other"}})
    replaced = send("put", path, {"spec": {**DOCKER, "password": "canary-2"}})

    assert (made.status_code, renamed.status_code, replaced.status_code) == (202, 202, 202)
    assert made.json()["meta"] == {**made.json()["meta"], **meta_of(world, scope)}
    assert (copy.project, copy.name, copy.kind) == (world.project, "shared", "registry")
    assert [len(entries) for entries in listed] == [int(one == scope) for one in (*SCOPES, "project")]
    assert "canary-2" in decrypt(ProjectSecret.objects.get(name="other").content)[".dockerconfigjson"]
    assert send("get", path).json() == replaced.json()
    assert send("delete", path).status_code == 202
    assert (send("get", path).status_code, ProjectSecret.objects.count()) == (404, 0)


def test_a_second_of_a_wider_scope_and_name_is_409(send, world):
    given = {"meta": meta_of(world, "tenant"), "spec": DOCKER}
    assert [send("post", f"{ROOT}/docker-registry", given).status_code for _ in range(2)] == [202, 409]


def test_the_hugging_face_token_can_be_that_of_a_department(send, world):
    pairs = {"keyValuePairs": [{"key": "token", "value": "hf_canary"}]}
    given = {"meta": meta_of(world, "department", "hf-token"), "spec": pairs}

    assert send("post", f"{ROOT}/generic-secret", given).status_code == 202
    assert (ProjectSecret.objects.get().kind, ProjectSecret.objects.get().keys) == (
        "hugging-face", ["HF_TOKEN", "token"],
    )  # fmt: skip


def test_who_may_only_in_a_project_sees_what_is_shared_with_it_and_makes_none(
    send, world, client_of, researcher, department_admin, outsider
):
    made = {
        scope: send("post", f"{ROOT}/password", {"meta": meta_of(world, scope, f"of-{scope}"), "spec": PASSWORD}).json()
        for scope in SCOPES
    }
    paths = {scope: f"{ROOT}/password/{made[scope]['meta']['id']}" for scope in SCOPES}

    def asked(person, scope, method="get", body=None):
        text = json.dumps(body) if body else ""
        return client_of(person).generic(method, paths[scope], text, content_type="application/json").status_code

    assert [asked(researcher, scope) for scope in SCOPES] == [200, 200, 200]
    assert [asked(researcher, scope, "delete") for scope in SCOPES] == [403, 403, 403]
    assert [asked(department_admin, scope, "put", {"spec": PASSWORD}) for scope in SCOPES] == [202, 403, 403]
    assert [asked(outsider, scope) for scope in SCOPES] == [404, 404, 200]
    assert [asked(outsider, scope, "delete") for scope in SCOPES] == [404, 404, 403]


@pytest.mark.parametrize("scope", ["project", "tenant"])
@pytest.mark.parametrize(
    ("kind", "keys"), [(kind, SPECS[kind][1]) for kind in ("password", "access-key", "ngc-api-key")]
)
def test_a_generic_secret_with_the_keys_of_another_kind_stays_generic(send, world, scope, kind, keys):
    meta = {"name": "mine", "scope": scope, **({"projectId": world.project.pk} if scope == "project" else {})}
    spec = {"keyValuePairs": [{"key": key, "value": "canary-1"} for key in keys]}
    made = send("post", f"{ROOT}/generic-secret", {"meta": meta, "spec": spec}).json()
    path = f"{ROOT}/generic-secret/{made['meta']['id']}"

    changed = send("put", path, {"spec": spec})

    assert changed.status_code == 202
    assert made["meta"]["kind"] == send("get", path).json()["meta"]["kind"] == "genericSecret"
    assert [e["meta"]["name"] for e in send("get", f"{ROOT}/generic-secret").json()["entries"]] == ["mine"]
    assert send("get", f"{ROOT}/{kind}").json() == {"entries": []}


PLACES = {"projectId": "project", "departmentId": "department", "clusterId": "cluster"}


@pytest.mark.parametrize("scope", ["project", "department", "cluster", "tenant"])
def test_an_id_that_the_scope_does_not_use_is_refused_by_name(send, world, scope):
    ids = {"projectId": world.project.pk, "departmentId": str(world.department.pk), "clusterId": str(world.cluster.pk)}
    unused = [key for key, of in PLACES.items() if of != scope]
    meta = {"name": "mine", "scope": scope}

    refused = send("post", f"{ROOT}/password", {"meta": {**meta, **ids}, "spec": PASSWORD})
    made = send("post", f"{ROOT}/password", {"meta": {**meta, **ids, **dict.fromkeys(unused)}, "spec": PASSWORD})

    assert (refused.status_code, made.status_code) == (400, 202)
    assert [fault["field"] for fault in refused.json()["faults"]] == [f"meta.{key}" for key in unused]


@pytest.mark.parametrize("scope", ["project", "tenant"])
@pytest.mark.parametrize("name", ["", "Upper", "a b", "x" * 254])
def test_a_credential_is_not_renamed_to_what_no_object_can_be_called(send, world, scope, name):
    meta = {"name": "mine", "scope": scope, **({"projectId": world.project.pk} if scope == "project" else {})}
    made = send("post", f"{ROOT}/password", {"meta": meta, "spec": PASSWORD}).json()
    path = f"{ROOT}/password/{made['meta']['id']}"

    answer = send("put", path, {"meta": {"name": name}})

    assert (answer.status_code, [fault["field"] for fault in answer.json()["faults"]]) == (400, ["name"])
    assert send("get", path).json() == made
