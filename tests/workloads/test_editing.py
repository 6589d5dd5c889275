"""Form and YAML are two views of one document."""

from dataclasses import replace

import pytest

from tests.workloads.samples import DISAGG, MULTINODE
from workloads.allowlist import check_allowed
from workloads.blueprints import BLUEPRINTS, blueprint
from workloads.document import edit, load
from workloads.editing import changes_of, fields_of
from workloads.graph import parse_graph


@pytest.mark.parametrize("text", [DISAGG, MULTINODE, *map(blueprint, BLUEPRINTS)])
def test_a_form_that_is_not_touched_changes_nothing(text: str) -> None:
    document = load(text)

    assert changes_of(document, fields_of(document)) == {}


@pytest.mark.parametrize("name", BLUEPRINTS)
def test_every_blueprint_may_be_submitted(name: str) -> None:
    document = load(blueprint(name))

    assert check_allowed(document, namespace="runai-a") == ()
    assert parse_graph(document).gpus > 0


@pytest.mark.parametrize("text", [DISAGG, MULTINODE])
def test_what_the_form_says_is_what_the_document_then_says(text: str) -> None:
    document = load(text)
    fields = fields_of(document)
    roles = (fields.roles[0], replace(fields.roles[1], replicas="7", gpus="2", args="--model 'a b' --x"))
    wanted = replace(
        fields,
        name="other",
        node_pool="h200",
        topology="dc",
        required="rack",
        preferred="",
        priority_class="train",
        preemptibility="preemptible",
        roles=roles + fields.roles[2:],
    )

    edited = load(edit(text, changes_of(document, wanted)))

    assert fields_of(edited) == wanted


def test_placement_stays_where_it_was_written() -> None:
    document = load(DISAGG)
    changes = changes_of(document, replace(fields_of(document), preferred="topology.kubernetes.io/rack"))

    assert changes == {
        ("metadata", "annotations", "kai.scheduler/topology-preferred-placement"): "topology.kubernetes.io/rack"
    }


def test_a_gang_that_needs_all_replicas_still_does_after_scaling() -> None:
    document = load(MULTINODE)
    fields = fields_of(document)
    wanted = replace(fields, roles=(fields.roles[0], replace(fields.roles[1], replicas="3")))

    changes = changes_of(document, wanted)

    assert changes == {("spec", "components", 1, "replicas"): 3, ("spec", "components", 1, "minAvailable"): 3}
