"""Who makes the pod groups is read from those that there are; what Grove's own back-end heeds is previewed as such."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.kinds import KAI_POD_GROUP
from clusters.models import ClusterObject
from core import words
from core.errors import InvalidInput
from tests.simulator.actors.graphs import RACK, frontend, worker
from tests.workloads.test_placement_truth import DOMAINS
from workloads.manifests import Target, WorkloadSpec, graph_manifest
from workloads.placement import has_own_backend
from workloads.placement_gangs import Surroundings, render_gangs

BINDING = {
    "metadata": {"name": "fabric"},
    "spec": {"levels": [{"domain": name, "key": key} for key, name in DOMAINS.items()]},
}


def add_group(cluster: Any, name: str, gang: str, *, minutes: int) -> None:
    owner = {"kind": "PodGang", "name": gang, "uid": "u"}
    ClusterObject.objects.create(
        cluster=cluster,
        uid=name,
        name=name,
        namespace="team",
        resource_version="1",
        created_at=timezone.now() + timedelta(minutes=minutes),
        group=KAI_POD_GROUP.group,
        plural=KAI_POD_GROUP.plural,
        manifest={"metadata": {"name": name, "ownerReferences": [owner]}},
    )


def test_the_newest_pod_group_tells_who_makes_them(cluster: Any) -> None:
    assert not has_own_backend(cluster)
    add_group(cluster, "pg-qwen-0-1a2b", "qwen-0", minutes=0)
    assert not has_own_backend(cluster)
    add_group(cluster, "llama-0", "llama-0", minutes=1)
    assert has_own_backend(cluster)
    add_group(cluster, "pg-phi-0-3c4d", "phi-0", minutes=2)
    assert not has_own_backend(cluster)


def test_a_graph_that_cannot_be_rendered_says_so_in_the_language_of_whoever_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {"component %(name)s: podTemplate.spec.containers needs a container named main": "组件 %(name)s"}
    monkeypatch.setitem(words._chosen, "gettext", lambda text: told.get(text, text))
    bare = {"name": "decode", "type": "decode", "podTemplate": {"spec": {"containers": []}}}
    manifest = {"metadata": {"name": "qwen", "namespace": "team"}, "spec": {"components": [bare]}}

    with pytest.raises(InvalidInput) as refused:
        render_gangs(manifest, Surroundings(), now=0.0)

    assert [fault.message for fault in refused.value.faults] == ["组件 decode"]


@pytest.mark.parametrize(
    ("own_backend", "override", "wanted"),
    [(False, False, RACK), (True, False, ""), (True, True, RACK)],
)
def test_annotations_of_kai_have_no_effect_with_grove_s_own_back_end(
    *, own_backend: bool, override: bool, wanted: str
) -> None:
    """Recorded in golden/grove/13: only the constraint of the PodCliqueSet itself counts there."""
    spec = WorkloadSpec(
        name="qwen",
        namespace="team",
        owner="workloads.Workload.1",
        workload="1",
        document={
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "qwen", "namespace": "team"},
            "spec": {"backendFramework": "vllm", "components": [frontend(), worker("decode", 8, 2)]},
        },
        queue="team",
        topology="fabric",
        required=RACK,
    )
    manifest = graph_manifest(spec, Target("nvidia.com/v1beta1", "fabric", DOMAINS, takes_override=override))
    around = Surroundings({"fabric": BINDING}, {}, own_backend)
    (gang,) = render_gangs(manifest, around, now=0.0).gangs
    assert (gang.group.queue, gang.group.topology.required) == ("team", wanted)
