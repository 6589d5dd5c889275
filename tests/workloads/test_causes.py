"""Every cause on a simulated cluster: told as what it is and as nothing else, and gone once it is undone."""

from typing import Any

import pytest

from clusters.models import Node
from organizations.models import Quota
from scheduling.diagnosis_structs import Code
from tests.workloads import causes_combined, causes_outside, causes_queue, causes_room
from tests.workloads.causes import Situation
from topology.models import NodePool
from workloads.diagnosis_sentences import CAUSES

PARTS = (causes_outside, causes_queue, causes_room, causes_combined)
SITUATIONS = {name: situation for part in PARTS for name, situation in part.SITUATIONS.items()}


VARIANTS = ("AmongOthers", "InPieces", "Counted", "TooFewNone", "TooFewTerms")
"""Endings of second sentences for the same cause."""


@pytest.fixture
def workload_of(submit: Any, project: Any) -> Any:
    """`workload_of(situation)`: a workload of ours; the cluster's nodes are those of the situation alone."""
    Node.objects.all().delete()

    def workload_of(situation: Situation) -> Any:
        if not situation.pool:
            return submit(situation.source)
        name = situation.pool
        pool = NodePool.objects.create(
            cluster=project.cluster, name=name, label_key="gpu", label_value=name, phase="Ready"
        )
        owned = {"cluster": project.cluster, "node_pool": pool, "gpu_deserved": 32}
        Quota.objects.create(department=project.department, queue_name=f"research-{name}", **owned)
        Quota.objects.create(project=project, queue_name=f"assistant-{name}", **owned)
        return submit(situation.source, node_pool=pool)

    return workload_of


def test_every_cause_that_the_product_knows_has_its_situation() -> None:
    known = {code for code in CAUSES if not code.endswith(VARIANTS)} - {Code.UNEXPLAINED}
    assert set(Code) - {Code.UNEXPLAINED} <= known
    assert {code for situation in SITUATIONS.values() for code in situation.codes} == known


@pytest.mark.long
@pytest.mark.parametrize("name", SITUATIONS)
def test_it_is_named_and_nothing_else_and_its_undoing_lets_it_run(
    name: str, workload_of: Any, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    situation: Situation = SITUATIONS[name]
    with situation.staged(workload_of(situation), admin, monkeypatch) as stage:
        assert tuple(dict.fromkeys(stage.codes())) == situation.codes, stage.told()
        situation.mend(stage)
        stage.runs(situation.pods)
        stage.observe()
        assert (stage.workload.phase, stage.codes()) == ("Running", [])
