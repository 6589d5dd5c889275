"""The DynamoGraphDeployment that is applied, as golden YAML per case."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from core.errors import InvalidInput
from tests.workloads.samples import DISAGG, MULTINODE
from workloads.conversion import convert
from workloads.document import edit, load
from workloads.graph import V1ALPHA1, V1BETA1, parse_graph
from workloads.manifests import Target, WorkloadSpec, graph_manifest

GOLDEN = Path(__file__).parent / "manifests"
GROVE_CRD = Path(__file__).parents[3] / "shared/reference/crds/grove/grove.io_podcliquesets.yaml"
RACK = "topology.kubernetes.io/rack"
BINDING = Target(
    V1BETA1,
    binding="topology-1",
    domains={"topology.kubernetes.io/zone": "zone", RACK: "rack"},
    takes_override=True,
)


def spec_of(text: str, **changes: Any) -> WorkloadSpec:
    document = load(text)
    spec = WorkloadSpec(
        name=document["metadata"]["name"],
        namespace="runai-project-a",
        owner="workloads.Workload.1",
        workload="1",
        document=document,
        queue="project-a",
    )
    return replace(spec, **changes)


CASES = {
    "v1alpha1-preferred": (
        spec_of(DISAGG, topology="topology-1", preferred="topology.kubernetes.io/zone"),
        Target(V1ALPHA1),
    ),
    "v1alpha1-to-v1beta1-required": (spec_of(DISAGG, topology="topology-1", required=RACK), BINDING),
    "v1beta1-pool-and-class": (
        spec_of(
            MULTINODE,
            queue="project-a-h200",
            node_pool="h200",
            priority_class="inference",
            preemptibility="non-preemptible",
        ),
        Target(V1BETA1),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rendered_graph_is_the_golden_one(case: str) -> None:
    golden = GOLDEN / f"{case}.yaml"

    rendered = graph_manifest(*CASES[case])

    assert rendered == yaml.safe_load(golden.read_text())


def test_a_required_level_is_repeated_as_preferred_so_that_the_scheduler_can_keep_it() -> None:
    annotations = graph_manifest(*CASES["v1alpha1-to-v1beta1-required"])["spec"]["annotations"]

    assert annotations["kai.scheduler/topology-required-placement"] == RACK
    assert annotations["kai.scheduler/topology-preferred-placement"] == RACK


def test_the_input_is_not_changed_by_rendering() -> None:
    spec = spec_of(DISAGG, topology="topology-1", required=RACK)

    graph_manifest(spec, BINDING)

    assert spec.document == load(DISAGG)


def test_a_graph_survives_the_way_there_and_back() -> None:
    document = load(MULTINODE.replace("      minAvailable: 2\n", ""))

    there_and_back = parse_graph(convert(convert(document, V1ALPHA1), V1BETA1))

    assert there_and_back == parse_graph(document)


def test_what_the_older_version_lacks_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        convert(load(MULTINODE), V1ALPHA1)

    assert [fault.field for fault in caught.value.faults] == ["spec.components[1].minAvailable"]


def test_what_the_newer_version_lacks_is_named() -> None:
    text = edit(DISAGG, {("spec", "services", "Frontend", "autoscaling"): {"enabled": True}})

    with pytest.raises(InvalidInput) as caught:
        convert(load(text), V1BETA1)

    assert [fault.field for fault in caught.value.faults] == ["spec.services.Frontend.autoscaling"]


@pytest.mark.skipif(not GROVE_CRD.exists(), reason="Grove's CRDs are not here")
def test_groves_own_schema_accepts_the_override() -> None:
    override = graph_manifest(*CASES["v1alpha1-to-v1beta1-required"])["spec"]["providerOverride"]
    crd = yaml.safe_load(GROVE_CRD.read_text())
    (version,) = [v for v in crd["spec"]["versions"] if f"grove.io/{v['name']}" == override["apiVersion"]]
    template = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["template"]
    constraint = template["properties"]["topologyConstraint"]

    value = override["value"]["spec"]["template"]["topologyConstraint"]

    assert crd["spec"]["names"]["kind"] == override["target"]
    jsonschema.validate(value, {**constraint, "additionalProperties": False})
    jsonschema.validate(value["pack"], {**constraint["properties"]["pack"], "additionalProperties": False})
