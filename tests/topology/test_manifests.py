from pathlib import Path

import pytest
import yaml

from tests.topology.crds import check_against_crd
from topology.manifests import (
    ShardSpec,
    TopologySpec,
    binding_manifest,
    grove_domains,
    node_label_manifest,
    shard_manifest,
    topology_manifest,
)

GOLDEN = Path(__file__).parent / "manifests"
SPEC = TopologySpec(
    name="dc-topology",
    levels=("topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname"),
    owner="topology.NetworkTopology.7d8c2c0e-3f1e-4a6a-9b56-0d0f6f6c1a11",
)
CASES = {
    "topology": topology_manifest(SPEC),
    "binding": binding_manifest(SPEC),
    "shard": shard_manifest(ShardSpec("h200", "topology.NodePool.2", gpu_strategy="spread")),
    "shard-with-runtime": shard_manifest(ShardSpec("h200", "topology.NodePool.2", min_runtime="128h40m0s")),
    "node-label": node_label_manifest("gpu-17", "0b1c2d3e", "h200"),
    "node-label-removed": node_label_manifest("gpu-17", "0b1c2d3e", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_manifest_is_the_golden_one(name: str) -> None:
    assert CASES[name] == yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == set(CASES)


def test_grove_domains_are_valid_unique_and_keep_the_known_names() -> None:
    assert grove_domains(("topology.kubernetes.io/region", "topology.kubernetes.io/zone")) == ("region", "zone")
    assert grove_domains(("a.example/rack", "b.example/rack")) == ("rack", "rack-2")
    assert grove_domains(("x/NVLink_Domain", "x/42")) == ("nvlink-domain", "level-42")


@pytest.mark.parametrize(
    ("name", "group", "plural"),
    [
        ("topology", "kai.scheduler", "topologies"),
        ("binding", "grove.io", "clustertopologybindings"),
        ("shard", "kai.scheduler", "schedulingshards"),
        ("shard-with-runtime", "kai.scheduler", "schedulingshards"),
    ],
)
def test_the_published_crd_accepts_what_we_write(name: str, group: str, plural: str) -> None:
    check_against_crd(group, plural, CASES[name])
