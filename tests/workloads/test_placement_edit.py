"""The preview beside an edit: as if the workload's own pods had ended, for those who may change it."""

from typing import Any

from django.urls import reverse

from tests.workloads.simulated import node, observe
from tests.workloads.test_diagnosis import graph


def preview_of(client: Any, workload: Any, source: str) -> Any:
    answer = client.post(reverse("workloads:placement"), {"workload": str(workload.pk), "source": source})
    return answer.context["preview"] if answer.status_code == 200 else answer.status_code


def test_its_own_pods_do_not_stand_in_its_way(waits: Any, admin: Any, client_of: Any) -> None:
    """It holds both nodes of the pool."""
    workload = observe(waits(graph(), nodes=[node("n0", "z1.r0"), node("n1", "z1.r0")]))
    client = client_of(admin)
    assert preview_of(client, workload, workload.source)["verdict"] == "now"
    larger = workload.source.replace("replicas: 2", "replicas: 3").replace("minAvailable: 2", "minAvailable: 3")
    assert preview_of(client, workload, larger)["verdict"] == "never"


def test_the_page_of_an_edit_asks_for_it(waits: Any, admin: Any, viewer: Any, client_of: Any) -> None:
    workload = waits(graph())
    page = client_of(admin).get(reverse("workloads:edit", args=[workload.pk])).content.decode()
    assert reverse("workloads:placement") in page
    assert preview_of(client_of(viewer), workload, workload.source) == 403


def test_what_cannot_be_read_has_no_preview(waits: Any, admin: Any, client_of: Any) -> None:
    assert preview_of(client_of(admin), waits(graph()), "kind: [") is None
