"""Form and YAML are two views of one document."""

from dataclasses import replace

import pytest

from core.errors import InvalidInput
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


# The right side is counted by hand in Kubernetes' int32: what is no plain number stays text, for the check to refuse.
@pytest.mark.parametrize(
    ("typed", "written"),
    [("3", 3), ("\u00b2", "\u00b2"), ("\u0663", "\u0663"), ("-1", "-1"), ("1e3", "1e3"), ("9" * 5000, "9" * 5000)],
)
def test_replicas_that_are_no_number_stay_as_they_were_typed(typed: str, written: int | str) -> None:
    document = load(DISAGG)
    fields = fields_of(document)
    roles = (replace(fields.roles[0], replicas=typed), *fields.roles[1:])

    changes = changes_of(document, replace(fields, roles=roles))

    assert changes == {("spec", "services", "Frontend", "replicas"): written}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("containers:\n", "containers:\n            - null\n", "containers[0]"),
        ("containers:", "containers: 1.5\n          x:", "containers"),
        ("  name: qwen\n", "  name: qwen\n  labels: 5\n", "metadata.labels"),
        ("  backendFramework: sglang\n", "  annotations: []\n", "spec.annotations"),
    ],
)
def test_a_document_that_lacks_the_structure_is_no_form(old: str, new: str, field: str) -> None:
    text = MULTINODE.replace(old, new, 1)

    with pytest.raises(InvalidInput) as caught:
        fields_of(load(text))

    assert field in caught.value.faults[0].field


def test_gpus_need_a_container_to_stand_in() -> None:
    document = load(
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: a}\n"
        "spec: {components: [{name: w, type: worker, podTemplate: {spec: {containers: []}}}]}\n"
    )
    fields = fields_of(document)

    with pytest.raises(InvalidInput) as caught:
        changes_of(document, replace(fields, roles=(replace(fields.roles[0], gpus="1"),)))

    assert caught.value.faults[0].field == "spec.components[0].podTemplate.spec.containers"


ALIASED = """apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: qwen}
spec:
  components:
    - name: prefill
      type: prefill
      replicas: 1
      podTemplate: &worker  # what both run
        spec:
          containers:
            - {name: main, image: "x:1.0.0", args: [--a], resources: {limits: {nvidia.com/gpu: "4"}}}
    - name: decode
      type: decode
      replicas: 1
      %s
"""


@pytest.mark.parametrize("second", ["podTemplate: *worker", "<<: {podTemplate: *worker}"])
@pytest.mark.parametrize("edited", [0, 1])
def test_an_edit_of_a_role_that_shares_its_pod_template_leaves_the_other_as_it_is(second: str, edited: int) -> None:
    text = ALIASED % second
    document = load(text)
    before = fields_of(document)
    roles = list(before.roles)
    roles[edited] = replace(roles[edited], gpus="2", args="--b")

    after = edit(text, changes_of(document, replace(before, roles=tuple(roles))))

    assert fields_of(load(after)).roles == tuple(roles)
    assert [role.gpus for role in before.roles] == ["4", "4"]
