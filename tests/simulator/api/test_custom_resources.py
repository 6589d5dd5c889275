"""CRDs: schemas, defaults, pruning, rules, versions; words as recorded from API server 1.35 (cluster-kit's claims)."""

from typing import Any

import pytest

from clusters.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_POD_CLIQUE_SET,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
    Kind,
)
from simulator.client import Object
from tests.simulator.api.conftest import Verbs


def topology(*levels: Object) -> Object:
    return {"metadata": {"name": "t2"}, "spec": {"levels": list(levels)}}


def clique_set(**template: Any) -> Object:
    spec = {"roleName": "w", "replicas": 2, "podSpec": {"containers": [{"name": "main", "image": "x"}]}}
    return {
        "metadata": {"name": "x"},
        "spec": {"template": {"cliques": [{"name": "w", "spec": spec}], **template}},
    }


UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            KAI_TOPOLOGY,
            {"metadata": {"name": "t2"}, "spec": {}},
            f'Topology.kai.scheduler "t2" is invalid: [spec.levels: Required value, {UNCHECKED}]',
        ),
        (
            KAI_QUEUE,
            {"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": "4"}}}},
            'Queue.scheduling.run.ai "q" is invalid: spec.resources.gpu.quota: Invalid value: "string": '
            'spec.resources.gpu.quota in body must be of type number: "string"',
        ),
        (
            KAI_QUEUE,
            {"metadata": {"name": "q"}, "spec": {"priority": 1.5, "resources": {}}},
            'Queue.scheduling.run.ai "q" is invalid: spec.priority: Invalid value: "number": '
            'spec.priority in body must be of type integer: "number"',
        ),
        (
            KAI_POD_GROUP,
            {"metadata": {"name": "p"}, "spec": {"preemptibility": ""}},
            'PodGroup.scheduling.run.ai "p" is invalid: spec.preemptibility: Unsupported value: "": '
            'supported values: "preemptible", "non-preemptible"',
        ),
        (
            KAI_SCHEDULING_SHARD,
            {"metadata": {"name": "s"}, "spec": {"goMemLimitRatio": 0}},
            'SchedulingShard.kai.scheduler "s" is invalid: spec.goMemLimitRatio: Invalid value: 0: '
            "spec.goMemLimitRatio in body should be greater than 0",
        ),
        (
            GROVE_POD_CLIQUE_SET,
            clique_set(topologyConstraint={"topologyName": "dc", "packDomain": "rack"}),
            'PodCliqueSet.grove.io "x" is invalid: spec.template.topologyConstraint.packDomain: Forbidden: '
            "packDomain is deprecated and cannot be used on new workloads; use pack.required",
        ),
        (
            GROVE_POD_CLIQUE_SET,
            clique_set(topologyConstraint={"topologyName": "dc", "pack": {}}),
            'PodCliqueSet.grove.io "x" is invalid: spec.template.topologyConstraint.pack: Required value: '
            "pack must specify at least one of required or preferred",
        ),
        (
            GROVE_POD_CLIQUE_SET,
            clique_set(topologyConstraint={"topologyName": "dc"}),
            'PodCliqueSet.grove.io "x" is invalid: spec.template.topologyConstraint.pack: Required value: '
            "topologyConstraint must specify pack or deprecated packDomain",
        ),
        (
            GROVE_POD_CLIQUE_SET,
            clique_set(topologyConstraint={"pack": {"required": "topology.kubernetes.io/rack"}}),
            'PodCliqueSet.grove.io "x" is invalid: spec.template.topologyConstraint.pack.required: Invalid value: '
            '"topology.kubernetes.io/rack": spec.template.topologyConstraint.pack.required in body should match '
            "'^[a-z][a-z0-9-]*$'",
        ),
        (
            DYNAMO_GRAPH_DEPLOYMENT,
            {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a"}, {"name": "a"}]}},
            'DynamoGraphDeployment.nvidia.com "g" is invalid: spec.components[1]: Duplicate value: {"name":"a"}',
        ),
        (
            DYNAMO_GRAPH_DEPLOYMENT,
            {"metadata": {"name": "g"}, "spec": {"components": [{"name": "a", "replicas": -1}]}},
            'DynamoGraphDeployment.nvidia.com "g" is invalid: spec.components[0].replicas: Invalid value: -1: '
            "spec.components[0].replicas in body should be greater than or equal to 0",
        ),
    ],
)
def test_what_a_schema_refuses(verbs: Verbs, kind: Kind, body: Object, message: str) -> None:
    namespace = "default" if kind.namespaced else None
    error = verbs.refused(verbs.create, kind, body, namespace)

    assert (error.code, error.reason, error.message) == (422, "Invalid", message)


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": -3, "resources": {"gpu": {"quota": -7, "limit": -7, "overQuotaWeight": -1}}},
        {"parentQueue": "q", "resources": {}},
        {"resources": {"gpu": {"quota": 0.5}}},
    ],
)
def test_queues_that_a_real_api_server_accepts_too(verbs: Verbs, spec: Object) -> None:
    assert verbs.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": spec})["spec"] == spec


def test_no_default_is_filled_in_for_an_absent_limit(verbs: Verbs) -> None:
    made = verbs.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 4}}}})

    assert made["spec"]["resources"] == {"gpu": {"quota": 4}}


def test_defaults_are_filled_in_at_every_depth(verbs: Verbs) -> None:
    groups = [{"name": "g", "cliqueNames": ["w"]}]
    made = verbs.create(GROVE_POD_CLIQUE_SET, clique_set(podCliqueScalingGroups=groups), "default")

    assert made["spec"]["replicas"] == 0
    assert made["spec"]["template"]["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    assert made["spec"]["template"]["podCliqueScalingGroups"] == [
        {"name": "g", "cliqueNames": ["w"], "replicas": 1, "minAvailable": 1}
    ]


def test_pod_specs_inside_are_kept_as_they_are(verbs: Verbs) -> None:
    body = clique_set()
    pod_spec = {"containers": [{"name": "main", "anything": {"goes": [1]}}], "schedulerName": "kai-scheduler"}
    body["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = pod_spec
    made = verbs.create(GROVE_POD_CLIQUE_SET, body, "default")

    assert made["spec"]["template"]["cliques"][0]["spec"]["podSpec"] == pod_spec


def test_metadata_of_wrong_types_cannot_be_read(verbs: Verbs) -> None:
    body = {"metadata": {"name": "q", "labels": {"a": 1}}, "spec": {"resources": {}}}
    error = verbs.refused(verbs.create, KAI_QUEUE, body)

    assert error.code == 400
    assert "cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string" in error.message


def crd(group: str = "example.org", **version: Any) -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    return {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, **version}],
        },
    }


def test_a_new_crd_is_served_at_once_and_established(verbs: Verbs) -> None:
    made = verbs.create(CUSTOM_RESOURCE_DEFINITION, crd())
    thing = Kind("example.org", "v1", "Thing", "things", namespaced=True)
    verbs.create(thing, {"metadata": {"name": "a"}}, "default")

    conditions = {item["type"]: item["status"] for item in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert made["spec"]["names"]["listKind"] == "ThingList"
    assert verbs.names(thing) == ["a"]


def test_a_rule_that_is_not_known_is_refused(verbs: Verbs) -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.spec.a > 1"}]}
    error = verbs.refused(verbs.create, CUSTOM_RESOURCE_DEFINITION, crd(schema={"openAPIV3Schema": schema}))

    assert error.code == 422
    assert 'Invalid value: "self.spec.a > 1": rule is not known to the simulator' in error.message


def test_two_storage_versions_are_refused(verbs: Verbs) -> None:
    body = crd()
    body["spec"]["versions"].append({**body["spec"]["versions"][0], "name": "v2"})

    assert (
        "exactly one version marked as storage" in verbs.refused(verbs.create, CUSTOM_RESOURCE_DEFINITION, body).message
    )


def test_versions_without_conversion_differ_in_their_fields_only(verbs: Verbs) -> None:
    def version(name: str, *, storage: bool, fields: list[str]) -> Object:
        spec = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": storage, "schema": schema}

    body = crd()
    body["spec"]["versions"] = [
        version("v2", storage=True, fields=["a", "b"]),
        version("v1", storage=False, fields=["a"]),
    ]
    verbs.create(CUSTOM_RESOURCE_DEFINITION, body)
    old = Kind("example.org", "v1", "Thing", "things", namespaced=True)
    new = Kind("example.org", "v2", "Thing", "things", namespaced=True)
    verbs.create(new, {"metadata": {"name": "t"}, "spec": {"a": "1", "b": "2"}}, "default")
    seen = verbs.get(old, "t", "default")

    assert seen is not None
    assert (seen["apiVersion"], seen["spec"]) == ("example.org/v1", {"a": "1"})
    assert verbs.server.registry.groups()["example.org"] == ["v2", "v1"]


def test_every_kind_the_product_knows_is_served(verbs: Verbs) -> None:
    from clusters import kinds

    known = [value for value in vars(kinds).values() if isinstance(value, Kind)]
    missing = [kind.plural for kind in known if verbs.server.find(kind.group, kind.version, kind.plural) is None]
    assert len(known) > 20
    assert missing == []
