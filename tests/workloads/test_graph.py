"""What is read out of a DynamoGraphDeployment."""

from decimal import Decimal
from pathlib import Path

import pytest

from core.errors import InvalidInput
from tests.workloads.samples import DISAGG, FICTION, MULTINODE
from workloads.document import edit, load
from workloads.graph import component_path, parse_graph

AICONFIGURATOR = Path(__file__).parents[3] / "shared/reference/samples/aic_disagg_k8s_deploy.yaml"


def test_the_pasted_disagg_yaml_is_read_as_it_is() -> None:
    graph = parse_graph(load(DISAGG))

    assert (graph.name, graph.namespace, graph.framework) == ("vllm-disagg", "runai-project-a", "vllm")
    assert [(c.name, c.role, c.replicas, c.gpus_each) for c in graph.components] == [
        ("Frontend", "frontend", 1, 0),
        ("VllmDecodeWorker", "decode", 2, 1),
        ("VllmPrefillWorker", "prefill", 1, 1),
    ]
    assert graph.is_disaggregated
    assert (graph.gpus, graph.pods, graph.gang_gpus) == (Decimal(3), 4, Decimal(2))
    assert graph.wishes.topology == "topology-1"
    assert graph.wishes.preferred == "topology.kubernetes.io/zone"
    assert graph.wishes.required == ""


def test_a_multinode_component_counts_its_nodes() -> None:
    graph = parse_graph(load(MULTINODE))

    decode = graph.components[1]
    assert (decode.nodes, decode.pods, decode.gpus, decode.gang_pods) == (2, 4, Decimal(16), 4)
    assert graph.gang_gpus == 16
    assert not graph.is_disaggregated


@pytest.mark.skipif(not AICONFIGURATOR.exists(), reason="the sample of aiconfigurator is not here")
def test_aiconfigurators_output_is_read() -> None:
    graph = parse_graph(load(AICONFIGURATOR.read_text()))

    assert [(c.role, c.replicas, int(c.gpus_each)) for c in graph.components] == [
        ("frontend", 1, 0),
        ("prefill", 8, 1),
        ("decode", 1, 8),
    ]
    assert graph.gpus == 16


def test_the_fictional_kind_is_refused_with_what_is_real() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_graph(load(FICTION))

    (fault,) = caught.value.faults
    assert fault.field == "kind"
    assert "exists in no release" in fault.message
    assert "nvidia.com/v1beta1" in fault.allowed
    assert "nvidia.com/v1alpha1" in fault.allowed


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("replicas: 2", "replicas: -1", "spec.components[1].replicas"),
        ("replicas: 2", "replicas: two", "spec.components[1].replicas"),
        ("replicas: 2", "replicas: true", "spec.components[1].replicas"),
        ("minAvailable: 2", "minAvailable: 3", "spec.components[1].minAvailable"),
        ("nodeCount: 2", "nodeCount: 1", "spec.components[1].multinode.nodeCount"),
        ("type: decode", "type: decoder", "spec.components[1].type"),
        ("name: decode", "name: FRONTEND", "spec.components[1]"),
        ("gpu: 4", "gpu: 0.5", "spec.components[1].podTemplate.spec.containers[0].resources.limits[nvidia.com/gpu]"),
        ("Framework: sglang", "Framework: tgi", "spec.backendFramework"),
        ("v1beta1", "v1alpha1", "spec.components"),
        ("v1beta1", "v1", "apiVersion"),
        ("kind: DynamoGraphDeployment", "kind: Pod", "kind"),
    ],
)
def test_a_fault_names_its_field(old: str, new: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_graph(load(MULTINODE.replace(old, new)))

    assert field in [fault.field for fault in caught.value.faults]


def test_a_component_is_found_by_name_or_the_names_are_said() -> None:
    assert component_path(load(MULTINODE), "decode") == ("spec", "components", 1)
    assert component_path(load(DISAGG), "Frontend") == ("spec", "services", "Frontend")
    with pytest.raises(InvalidInput, match="no component 'prefill'"):
        component_path(load(MULTINODE), "prefill")


@pytest.mark.parametrize("name", ["ünï", "a b", "-x", "x-", "a.b", "A_b", ""])
def test_a_component_that_cannot_name_pods_is_refused(name: str) -> None:
    document = load(edit(DISAGG, {("spec", "services", name): {"replicas": 1, "componentType": "worker"}}))
    with pytest.raises(InvalidInput) as caught:
        parse_graph(document)
    assert [fault.field for fault in caught.value.faults] == [f"spec.services.{name}"]


@pytest.mark.parametrize("gpus", ["٣", "1000mm", "9" * 40, "0x1", "1_0", "NaN", "-1", "500m"])
def test_gpus_are_whole_kubernetes_quantities_t8(gpus: str) -> None:
    path = ("spec", "services", "VllmDecodeWorker", "resources", "limits", "gpu")
    with pytest.raises(InvalidInput) as caught:
        parse_graph(load(edit(DISAGG, {path: gpus})))
    assert [fault.field for fault in caught.value.faults] == [".".join(path)]


@pytest.mark.parametrize("value", ["x", 5, [], True])
@pytest.mark.parametrize("path", [("podTemplate",), ("podTemplate", "spec"), ("podTemplate", "spec", "containers")])
def test_a_pod_template_of_any_shape_is_read(path: tuple[str, ...], value: object) -> None:
    assert parse_graph(load(edit(MULTINODE, {("spec", "components", 1, *path): value}))).components[1].gpus_each == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"replicas: 2": "replicas: 6000"}, "it wants 12001 pods"),
        ({"nodeCount: 2": "nodeCount: 10000"}, "it wants 20001 pods"),
        ({"replicas: 2": "replicas: 2000", "gpu: 4": "gpu: 300"}, "it wants 1200000 GPUs"),
    ],
)
def test_a_graph_is_no_larger_than_can_be_placed_and_counted(changes: dict[str, str], said: str) -> None:
    """Replicas of two nodes and one frontend are the pods; the columns of GPUs hold less than 10^8."""
    text = MULTINODE
    for old, new in changes.items():
        text = text.replace(old, new)

    with pytest.raises(InvalidInput) as caught:
        parse_graph(load(text))

    assert [(fault.field, fault.message) for fault in caught.value.faults] == [("spec", said)]
