"""What was observed is told of the workload that it concerns."""

from typing import Any

from django.utils import timezone

from clusters.models import ClusterEvent
from tests.workloads.samples import DISAGG
from workloads.observed import events_of


def test_events_of_a_workload_whose_name_goes_on_are_not_its_own(submit: Any) -> None:
    source = DISAGG.replace("runai-project-a", "runai-assistant")
    short = submit(source)
    long = submit(source.replace("name: vllm-disagg", "name: vllm-disagg-2"))
    for name in ("vllm-disagg", "vllm-disagg-0-decode-abc", "pg-vllm-disagg-uid", "vllm-disagg-2-0-decode-xyz"):
        ClusterEvent.objects.create(
            cluster=short.cluster,
            uid=name,
            name=f"{name}.1",
            resource_version="1",
            created_at=timezone.now(),
            namespace=short.project.namespace,
            type="Warning",
            reason="Unschedulable",
            involved_kind="Pod",
            involved_name=name,
        )

    assert {event.involved_name for event in events_of(long)} == {"vllm-disagg-2-0-decode-xyz"}
    assert {event.involved_name for event in events_of(short)} == {
        "vllm-disagg",
        "vllm-disagg-0-decode-abc",
        "pg-vllm-disagg-uid",
    }
