"""What the actors write is accepted by the schemas of KAI's and Grove's own CRDs, where those are at hand."""

from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml

from clusters.kinds import (
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
)
from tests.simulator.actors.graphs import graph, worker

CRDS = Path(__file__).parents[4] / "shared" / "reference" / "crds"
KINDS = (
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
)
pytestmark = pytest.mark.skipif(not CRDS.is_dir(), reason="the CRDs of KAI and Grove are not at hand")


@cache
def schemas():
    """JSON schema per (plural, version); unknown fields are errors, as pruning would lose them."""
    found = {}
    for path in CRDS.glob("*/*.yaml"):
        crd = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        for version in crd["spec"]["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            found[crd["spec"]["names"]["plural"], version["name"]] = schema
    return found


def strict(schema):
    if isinstance(schema, list):
        return [strict(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items() if key not in ("description", "format")}
    if isinstance(schema.get("properties"), dict):
        result["properties"] = {name: strict(value) for name, value in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
            result["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    return result


@pytest.mark.parametrize("own_backend", [False, True], ids=["podgrouper", "grove-kai"])
def test_every_object_of_a_running_graph_fits_the_real_crds(play, own_backend):
    known = schemas()

    async def scenario(cluster):
        await cluster.add_binding()
        decode = worker("decode", 2, 2, multinode={"nodeCount": 2}, topologyConstraint={"packDomain": "rack"})
        zone = {"clusterTopologyName": "fabric", "packDomain": "zone"}
        await cluster.submit(graph(decode, topologyConstraint=zone))
        await cluster.running(5)
        for kind in KINDS:
            objects = await cluster.objects(kind)
            assert objects, kind.kind
            for obj in objects:
                jsonschema.Draft4Validator(known[kind.plural, kind.version]).validate(obj)

    play(scenario, grove_kai_backend=own_backend)
