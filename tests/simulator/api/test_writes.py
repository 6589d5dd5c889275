"""Create and update: names, conflicts, subresources, generations, dry-run; words as a real API server has them."""

import re

import pytest

from clusters.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    KAI_POD_GROUP,
    KAI_QUEUE,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    SECRET,
    SERVICE,
)
from simulator.client import Object
from tests.simulator.api.conftest import Verbs, pod

QUEUE: Object = {"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 1}}}}


def test_a_new_object_gets_its_identity(verbs: Verbs) -> None:
    made = verbs.create(KAI_QUEUE, QUEUE)["metadata"]

    assert re.fullmatch(r"[0-9a-f-]{36}", made["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["creationTimestamp"])
    assert made["generation"] == 1
    assert made["resourceVersion"] == str(verbs.server.store.resource_version)


def test_a_generated_name_has_five_random_letters(verbs: Verbs) -> None:
    names = {verbs.create(POD, pod(generateName="web-"), "default")["metadata"]["name"] for _ in range(20)}

    assert len(names) == 20
    assert all(re.fullmatch(r"web-[a-z0-9]{5}", name) for name in names)


def test_a_name_that_is_taken_is_409(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, QUEUE)
    error = verbs.refused(verbs.create, KAI_QUEUE, QUEUE)

    assert (error.code, error.reason) == (409, "AlreadyExists")
    assert error.message == 'queues.scheduling.run.ai "q" already exists'
    assert error.details == {"name": "q", "group": "scheduling.run.ai", "kind": "queues"}


def test_a_namespace_that_is_not_there_is_404(verbs: Verbs) -> None:
    error = verbs.refused(verbs.create, POD, pod("p"), "absent")

    assert (error.code, error.message) == (404, 'namespaces "absent" not found')


def test_an_update_with_a_stale_version_is_409(verbs: Verbs) -> None:
    old = verbs.create(KAI_QUEUE, QUEUE)
    verbs.patch(KAI_QUEUE, "q", {"spec": {"priority": 5}})
    error = verbs.refused(verbs.update, KAI_QUEUE, old)

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on queues.scheduling.run.ai "q": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_an_update_of_a_custom_resource_needs_a_version(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, QUEUE)
    error = verbs.refused(verbs.update, KAI_QUEUE, QUEUE)

    assert error.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in error.message


def test_an_update_that_changes_nothing_writes_nothing(verbs: Verbs) -> None:
    made = verbs.create(KAI_QUEUE, QUEUE)
    again = verbs.update(KAI_QUEUE, made)

    assert again is made
    assert verbs.server.store.resource_version == int(made["metadata"]["resourceVersion"])


def test_the_generation_counts_changes_of_the_spec_only(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, QUEUE)
    labelled = verbs.patch(KAI_QUEUE, "q", {"metadata": {"labels": {"a": "b"}}})
    changed = verbs.patch(KAI_QUEUE, "q", {"spec": {"priority": 3}})
    status = verbs.patch(KAI_QUEUE, "q", {"status": {"childQueues": ["x"]}}, subresource="status")

    assert labelled["metadata"]["generation"] == 1
    assert changed["metadata"]["generation"] == 2
    assert status["metadata"]["generation"] == 2


def test_status_and_spec_cannot_be_written_by_each_others_verb(verbs: Verbs) -> None:
    made = verbs.create(KAI_QUEUE, {**QUEUE, "status": {"childQueues": ["dropped"]}})
    spec = verbs.patch(KAI_QUEUE, "q", {"spec": {"priority": 3}, "status": {"childQueues": ["x"]}})
    status = verbs.patch(
        KAI_QUEUE, "q", {"spec": {"priority": 9}, "status": {"childQueues": ["y"]}}, subresource="status"
    )

    assert "status" not in made
    assert "status" not in spec
    assert status["status"] == {"childQueues": ["y"]}
    assert status["spec"]["priority"] == 3


def test_a_status_write_of_a_custom_resource_leaves_its_metadata(verbs: Verbs) -> None:
    verbs.create(KAI_QUEUE, QUEUE)
    body = {"metadata": {"labels": {"a": "b"}}, "status": {"childQueues": ["y"]}}
    written = verbs.patch(KAI_QUEUE, "q", body, subresource="status")

    assert "labels" not in written["metadata"]


def test_a_dry_run_answers_and_keeps_nothing(verbs: Verbs) -> None:
    before = verbs.server.store.resource_version
    made = verbs.create(KAI_QUEUE, QUEUE, dry_run=True)

    assert made["metadata"]["uid"]
    assert verbs.get(KAI_QUEUE, "q") is None
    assert verbs.server.store.resource_version == before


def test_unknown_fields_are_dropped_or_refused(verbs: Verbs) -> None:
    body = {"metadata": {"name": "q"}, "spec": {"parent": "x", "resources": {"gpu": {"quata": 1}}}}
    error = verbs.refused(verbs.create, KAI_QUEUE, body, field_validation="Strict")
    made = verbs.create(KAI_QUEUE, body)

    assert error.code == 400
    assert error.message == (
        'Queue in version "v2" cannot be handled as a Queue: strict decoding error: unknown field "spec.parent", '
        'unknown field "spec.resources.gpu.quata"'
    )
    assert made["spec"] == {"resources": {"gpu": {}}}


def test_a_body_of_another_kind_or_version_is_refused(verbs: Verbs) -> None:
    kind = verbs.refused(verbs.create, KAI_QUEUE, {**QUEUE, "kind": "Topology"})
    version = verbs.refused(verbs.create, KAI_QUEUE, {**QUEUE, "apiVersion": "scheduling.run.ai/v1"})

    assert (kind.code, version.code) == (422, 400)
    assert kind.message == 'Topology.scheduling.run.ai "q" is invalid: kind: Invalid value: "Topology": must be Queue'
    assert version.message == (
        "the API version in the data (scheduling.run.ai/v1) does not match the expected API version "
        "(scheduling.run.ai/v2)"
    )


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (KAI_QUEUE, "Team_A", "a lowercase RFC 1123 subdomain must consist of"),
        (NAMESPACE, "a.b", "must not contain dots"),
        (NAMESPACE, "a" * 64, "must be no more than 63 characters"),
        (NODE, "a/b", "a lowercase RFC 1123 subdomain must consist of"),
        (KAI_QUEUE, "", "metadata.name: Required value: name or generateName is required"),
    ],
)
def test_names_that_kubernetes_refuses(verbs: Verbs, kind: object, name: str, text: str) -> None:
    error = verbs.refused(verbs.create, kind, {"metadata": {"name": name}, "spec": QUEUE["spec"]})

    assert error.code == 422
    assert text in error.message


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({"a b": "x"}, 'metadata.labels: Invalid value: "a b": name part must consist of'),
        ({"a": "x y"}, 'metadata.labels: Invalid value: "x y": a valid label must be an empty string or consist of'),
        ({"a": "x" * 64}, "must be no more than 63 bytes"),
        ({"/a": "x"}, "prefix part must be non-empty"),
        ({"UP.example/a": "x"}, "prefix part a lowercase RFC 1123 subdomain must consist of"),
    ],
)
def test_labels_that_kubernetes_refuses(verbs: Verbs, labels: dict[str, str], text: str) -> None:
    body = {"metadata": {"name": "c", "labels": labels}}

    assert text in verbs.refused(verbs.create, CONFIG_MAP, body, "default").message


def test_a_pod_is_completed_as_by_a_real_api_server(verbs: Verbs) -> None:
    limits = {"nvidia.com/gpu": 2, "cpu": "0.5", "memory": "1024Mi"}
    body = pod("p", containers=[{"name": "main", "image": "x", "resources": {"limits": limits}}])
    made = verbs.create(POD, body, "default")
    container = made["spec"]["containers"][0]

    assert container["resources"]["limits"] == {"nvidia.com/gpu": "2", "cpu": "500m", "memory": "1Gi"}
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert container["imagePullPolicy"] == "Always"
    assert made["spec"]["restartPolicy"] == "Always"
    assert made["spec"]["terminationGracePeriodSeconds"] == 30
    assert made["status"]["phase"] == "Pending"
    assert made["status"]["qosClass"] == "Guaranteed"
    assert made["spec"]["priority"] == 0


def test_a_pod_gets_the_value_of_its_priority_class(verbs: Verbs) -> None:
    verbs.create(PRIORITY_CLASS, {"metadata": {"name": "inference"}, "value": 125})
    made = verbs.create(POD, pod("p", priorityClassName="inference"), "default")
    error = verbs.refused(verbs.create, POD, pod("pc", priorityClassName="nope"), "default")

    assert made["spec"]["priority"] == 125
    assert (error.code, error.message) == (403, 'pods "pc" is forbidden: no PriorityClass with name nope was found')


def test_a_pods_spec_is_fixed_but_for_a_few_fields(verbs: Verbs) -> None:
    verbs.create(POD, pod("p", schedulingGates=[{"name": "g"}]), "default")
    ungated = verbs.patch(POD, "p", {"spec": {"schedulingGates": None}}, "default")
    error = verbs.refused(verbs.patch, POD, "p", {"spec": {"nodeSelector": {"a": "b"}}}, "default")

    assert "schedulingGates" not in ungated["spec"]
    assert error.code == 422
    assert 'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than' in error.message


def test_a_pod_without_containers_is_refused(verbs: Verbs) -> None:
    error = verbs.refused(verbs.create, POD, {"metadata": {"name": "p"}, "spec": {"containers": []}}, "default")

    assert error.message == 'Pod "p" is invalid: spec.containers: Required value'


def test_a_services_address_is_given_once(verbs: Verbs) -> None:
    ports = {"ports": [{"port": 80}]}
    first = verbs.create(SERVICE, {"metadata": {"name": "a"}, "spec": ports}, "default")["spec"]
    second = verbs.create(SERVICE, {"metadata": {"name": "b"}, "spec": ports}, "default")["spec"]
    headless = {"ports": [{"port": 80}], "clusterIP": "None"}
    third = verbs.create(SERVICE, {"metadata": {"name": "c"}, "spec": headless}, "default")["spec"]

    assert first["clusterIP"] != second["clusterIP"]
    assert first["ports"] == [{"protocol": "TCP", "targetPort": 80, "port": 80}]
    assert third["clusterIP"] == "None"
    error = verbs.refused(verbs.patch, SERVICE, "a", {"spec": {"clusterIP": "10.96.9.9"}}, "default")
    assert "may not change once set" in error.message


def test_secrets_take_text_and_keep_their_type(verbs: Verbs) -> None:
    made = verbs.create(SECRET, {"metadata": {"name": "s"}, "stringData": {"a": "b"}}, "default")
    error = verbs.refused(verbs.patch, SECRET, "s", {"type": "other"}, "default")

    assert (made["data"], made["type"], "stringData" in made) == ({"a": "Yg=="}, "Opaque", False)
    assert 'type: Invalid value: "other": field is immutable' in error.message


def test_a_deployments_selector_must_match_and_stay(verbs: Verbs) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "m", "image": "i:1"}]}}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}}
    made = verbs.create(DEPLOYMENT, body, "default")
    wrong = {**body, "metadata": {"name": "e"}, "spec": {**body["spec"], "selector": {"matchLabels": {"app": "b"}}}}

    assert made["spec"]["replicas"] == 1
    assert (
        "`selector` does not match template `labels`"
        in verbs.refused(verbs.create, DEPLOYMENT, wrong, "default").message
    )


def test_two_pod_groups_of_one_name_live_in_two_namespaces(verbs: Verbs) -> None:
    body = {"metadata": {"name": "same"}, "spec": {"minMember": 1}}
    verbs.create(KAI_POD_GROUP, body, "default")
    verbs.create(KAI_POD_GROUP, body, "kube-public")

    assert verbs.names(KAI_POD_GROUP) == ["same", "same"]


def test_a_uid_in_an_update_must_be_the_objects(verbs: Verbs) -> None:
    made = verbs.create(KAI_QUEUE, QUEUE)
    patched = verbs.refused(verbs.patch, KAI_QUEUE, "q", {"metadata": {"uid": "other"}})
    updated = verbs.refused(verbs.update, KAI_QUEUE, made | {"metadata": made["metadata"] | {"uid": "other"}})

    assert (patched.code, updated.code) == (422, 409)
    assert patched.message.endswith('metadata.uid: Invalid value: "other": field is immutable')
    assert "Precondition failed: UID in precondition: other" in updated.message


def test_what_a_client_was_given_never_changes(verbs: Verbs) -> None:
    body = pod("p")
    before = verbs.create(POD, body, "default")
    copy = {**before, "metadata": dict(before["metadata"])}
    body["spec"]["containers"][0]["image"] = "changed behind the server's back"
    verbs.patch(POD, "p", {"metadata": {"labels": {"a": "b"}}}, "default")
    found = verbs.get(POD, "p", "default")

    assert before == copy
    assert found is not None
    assert found["spec"]["containers"][0]["image"] == "x:1"
