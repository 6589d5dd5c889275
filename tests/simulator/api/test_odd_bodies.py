"""Bodies of another type than a Go struct, bytes that are no text, amounts that nobody counts: what Go answers."""

from typing import Any

import pytest

from clusters.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_TOPOLOGY,
    NAMESPACE,
    POD,
    Kind,
)
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT as DGD
from simulator.api.errors import ApiError
from simulator.api.go_json import Malformed, read
from simulator.api.quantities import quantity_problem
from simulator.client import Object
from tests.simulator.api.conftest import Http, Verbs

GRAPH, PART = "DynamoGraphDeployment", "DynamoComponentDeploymentSharedSpec"
NO_COMPONENT = "spec.components: Required value: at least one component is required"
NO_MAIN = (
    'spec.components[0].podTemplate.spec.containers: Required value: a container named "main" with an image is required'
)
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def loosen(verbs: Verbs, kind: Kind) -> None:
    """The CRD without a schema, as an older or newer version might have it."""
    name = f"{kind.plural}.{kind.group}"
    crd = verbs.get(CUSTOM_RESOURCE_DEFINITION, name)
    assert crd is not None
    versions = [{**version, "schema": {"openAPIV3Schema": FREE}} for version in crd["spec"]["versions"]]
    verbs.patch(CUSTOM_RESOURCE_DEFINITION, name, {"spec": {"versions": versions}})


def asked(verbs: Verbs, kind: Kind, body: Object) -> tuple[int, str]:
    loosen(verbs, kind)
    try:
        verbs.create(kind, {"metadata": {"name": "odd"}, **body}, "default" if kind.namespaced else None)
    except ApiError as error:
        return error.code, error.message
    return 201, ""


@pytest.mark.parametrize(
    ("kind", "spec", "given", "field", "wanted"),
    [  # go 1.26 encoding/json, into KAI v0.17's and the Dynamo operator's structs
        (KAI_TOPOLOGY, {"levels": "zone"}, "string", "TopologySpec.spec.levels", "[]v1alpha1.TopologyLevel"),
        (KAI_TOPOLOGY, {"levels": ["zone"]}, "string", "TopologySpec.spec.levels", "v1alpha1.TopologyLevel"),
        (KAI_TOPOLOGY, {"levels": [{"nodeLabel": 5}]}, "number", "TopologyLevel.spec.levels.nodeLabel", "string"),
        (KAI_QUEUE, ["a", "b"], "array", "Queue.spec", "v2.QueueSpec"),
        (KAI_QUEUE, {"resources": {"gpu": {"quota": "8k"}}},
         "string", "QueueResource.spec.resources.gpu.quota", "float64"),
        (KAI_QUEUE, {"resources": {}, "parentQueue": 5}, "number", "QueueSpec.spec.parentQueue", "string"),
        (KAI_QUEUE, {"resources": {}, "priority": 1.5}, "number 1.5", "QueueSpec.spec.priority", "int"),
        (KAI_QUEUE, {"resources": {}, "reclaimMinRuntime": 5}, "number", "", "string"),
        (KAI_POD_GROUP, {"minMember": "3"}, "string", "PodGroupSpec.spec.minMember", "int32"),
        (KAI_POD_GROUP, {"minMember": 2**31}, "number 2147483648", "PodGroupSpec.spec.minMember", "int32"),
        (KAI_POD_GROUP, {"subGroups": {}}, "object", "PodGroupSpec.spec.subGroups", "[]v2alpha2.SubGroup"),
        (KAI_POD_GROUP, {"topologyConstraint": "z"},
         "string", "PodGroupSpec.spec.topologyConstraint", "v2alpha2.TopologyConstraint"),
        (DGD, {"components": {"a": {}}}, "object", f"{GRAPH}Spec.spec.components", f"[]v1beta1.{PART}"),
        (DGD, {"components": [{"name": 7}]}, "number", f"{PART}.spec.components.name", "string"),
        (DGD, {"components": [{"podTemplate": {"spec": {"containers": "x"}}}]},
         "string", "PodSpec.spec.components.podTemplate.spec.containers", "[]v1.Container"),
        (DGD, "x", "string", f"{GRAPH}.spec", f"v1beta1.{GRAPH}Spec"),
    ],
)  # fmt: skip
def test_what_no_struct_of_the_webhook_can_hold_is_400(
    verbs: Verbs, kind: Kind, spec: Any, given: str, field: str, wanted: str
) -> None:
    status, message = asked(verbs, kind, {"spec": spec})

    assert status == 400
    into = f"Go struct field {field}" if field else "Go value"
    said = f"json: cannot unmarshal {given} into {into} of type {wanted}"
    assert message.partition(" denied the request: ")[2] == said


@pytest.mark.parametrize(
    ("kind", "spec", "answer"),
    [
        (KAI_TOPOLOGY, None, (201, "")),
        (KAI_TOPOLOGY, {"levels": None}, (201, "")),
        (KAI_TOPOLOGY, {"levels": [None]}, (201, "")),
        (KAI_QUEUE, None, (403, "resources must be specified")),
        (KAI_QUEUE, {"resources": {"gpu": None}, "priority": None}, (201, "")),
        (KAI_POD_GROUP, {"subGroups": [None]}, (403, "subgroup : minMember is required")),
        (KAI_POD_GROUP, {"subGroups": [None, None]}, (403, "duplicate subgroup name ")),
        (DGD, {"components": []}, (403, NO_COMPONENT)),
        (DGD, {"components": [None]}, (403, NO_MAIN)),
    ],
)  # fmt: skip
def test_null_is_the_zero_value_that_a_webhook_judges(verbs: Verbs, kind: Kind, spec: Any, answer: Any) -> None:
    status, message = asked(verbs, kind, {"spec": spec})

    assert (status, message.partition(" denied the request: ")[2]) == answer


def test_an_odd_queue_beside_it_keeps_no_queue_from_being_made(verbs: Verbs) -> None:
    verbs.server.quota_validation = True
    for number, spec in enumerate((["a"], "x", {"parentQueue": ["q"], "resources": {"gpu": {"quota": "8k"}}})):
        body = {"metadata": {"name": f"odd-{number}", "uid": str(number)}, "spec": spec}
        verbs.server.store.put((KAI_QUEUE.group, KAI_QUEUE.plural), ("", f"odd-{number}"), body)
    child = {"metadata": {"name": "q"}, "spec": {"parentQueue": "odd-2", "resources": {"gpu": {"quota": 1}}}}

    assert verbs.create(KAI_QUEUE, child)["spec"]["parentQueue"] == "odd-2"


def test_a_queue_whose_status_no_struct_can_hold_cannot_be_deleted(verbs: Verbs) -> None:
    body = {"metadata": {"name": "odd", "uid": "1"}, "spec": {"resources": {}}, "status": {"childQueues": "all"}}
    verbs.server.store.put((KAI_QUEUE.group, KAI_QUEUE.plural), ("", "odd"), body)

    error = verbs.refused(verbs.delete, KAI_QUEUE, "odd")

    assert (error.code, error.message.partition(" denied the request: ")[2]) == (
        400,
        "json: cannot unmarshal string into Go struct field QueueStatus.status.childQueues of type []string",
    )


@pytest.mark.parametrize(
    ("raw", "value"),
    [  # go 1.26: json.Unmarshal
        (b'"a\xffb"', "a\ufffdb"),
        (b'"\xe2\x82"', "\ufffd\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (rb'"\ud800"', "\ufffd"),
        (rb'"\ud83d\ude00 \udc00x"', "\U0001f600 \ufffdx"),
        (b'{"\xff": [1, 2.5, true, null]}', {"\ufffd": [1, 2.5, True, None]}),
    ],
)
def test_bytes_that_are_no_text_are_read_as_go_reads_them(raw: bytes, value: Any) -> None:
    assert read(raw) == value


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b'{"a":"\xff"', "unexpected end of JSON input"),
        (b'{"a":"\xff",}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a":1e400}', "json: cannot unmarshal number 1e400 into Go value of type float64"),
        (b"[" * 100_000, "exceeded max depth"),
        (b"[" * 990 + b'"\xff"' + b"]" * 990, "exceeded max depth"),
    ],
)
def test_what_go_cannot_read_either_is_told_in_its_words(raw: bytes, said: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(raw)

    assert str(caught.value) == said


def test_a_label_of_no_text_is_422_and_an_annotation_is_kept(http: Http) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd","'

    refused = http.ask("POST", path, head + b'labels":{"a":"\xff"}}}')
    made = http.ask("POST", path, head + b'annotations":{"a":"x\xffy"}}}')

    assert (refused.status, refused.json["reason"]) == (422, "Invalid")
    assert (made.status, made.json["metadata"]["annotations"]) == (201, {"a": "x\ufffdy"})


@pytest.mark.parametrize(
    ("text", "said"),
    [  # apimachinery v0.35.4: resource.ParseQuantity
        ("1e9223372036854775807", ""),
        ("1e9223372036854775808", "unable to parse quantity's suffix"),
        ("1e-99999999999999999999", "unable to parse quantity's suffix"),
        ("8Kk", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("Ki", "unable to parse numeric part of quantity"),
        ("8x", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1.2.3", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ],
)
def test_why_an_amount_is_none(text: str, said: str) -> None:
    assert quantity_problem(text) == said


def test_an_exponent_beyond_64_bits_is_400_in_a_pod(verbs: Verbs) -> None:
    container = {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "1e99999999999999999999"}}}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}

    error = verbs.refused(verbs.create, POD, body, "default")

    assert error.code == 400
    assert error.message == ("""Pod in version "v1" cannot be handled as a Pod: unable to parse quantity's suffix""")


def test_of_several_refusals_the_first_in_the_servers_order_is_told(verbs: Verbs) -> None:
    """Decoding 400, plugins 403, schema 422, webhooks 403, a name that is taken 409 (apiserver: `Store.Create`)."""
    verbs.create(KAI_POD_GROUP, {"metadata": {"name": "pg"}, "spec": {"queue": "q", "minMember": 1}}, "default")
    denied = {"minMember": 1, "minSubGroup": 1}
    verbs.create(NAMESPACE, {"metadata": {"name": "going", "finalizers": ["example.com/wait"]}})
    verbs.delete(NAMESPACE, "going")

    def answer(namespace: str, labels: Any, **spec: Any) -> int:
        body = {"metadata": {"name": "pg", "labels": labels}, "spec": spec}
        return verbs.refused(verbs.create, KAI_POD_GROUP, body, namespace).code

    assert answer("going", {"a": 1}, minMember="x", minSubGroup=1) == 400
    assert answer("going", {}, minMember="x", minSubGroup=1) == 403
    assert answer("default", {}, **{**denied, "minMember": "x"}) == 422
    assert answer("default", {}, **denied) == 403
    assert answer("default", {}, queue="q", minMember=1) == 409
