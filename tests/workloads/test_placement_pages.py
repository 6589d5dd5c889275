"""The live preview beside the submission form, and the same answer by REST and as a dry run."""

import base64
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from clusters.models import Cluster
from tests.workloads import test_placement as rows
from tests.workloads.conftest import RACKS
from tests.workloads.test_placement import ALL_NODES, graph, occupy
from workloads.models import Workload

pytestmark = pytest.mark.django_db

observed = rows.observed


def fragment(client: Client, project: Any, source: str, status: int = 200, **more: str) -> str:
    data = {"project": str(project.pk), "source": source, "view": "yaml", **more}
    answer = client.post(reverse("workloads:placement"), data)
    assert answer.status_code == status, answer.content[:1000]
    return answer.content.decode()


def test_the_page_fetches_the_preview_as_the_form_changes(observed: Cluster, client: Client, admin: Any) -> None:
    client.force_login(admin)

    page = client.get(reverse("workloads:new")).content.decode()

    assert f'hx-post="{reverse("workloads:placement")}"' in page
    assert 'hx-trigger="load, input from:#draft delay:500ms, change from:#draft delay:500ms"' in page
    assert 'hx-sync="this:queue last"' in page


def test_verdict_nodes_level_distance_and_quota_are_shown(
    observed: Cluster,
    project: Any,
    client: Client,
    admin: Any,
) -> None:
    client.force_login(admin)

    shown = fragment(client, project, graph(8, 8, required=RACKS[1]))

    assert "It would run now." in shown
    assert "one rack, as asked: z1-r1; one of 4 that are equally good" in shown
    assert "Prefill and decode meet in one rack at the farthest." in shown
    assert "200 µs · 100 GB/s (an assumption)" in shown
    assert "about 4.788 ms to move the KV cache of 4,000 tokens of Qwen/Qwen3-0.6B, an estimate" in shown
    assert "z1 › z1-r1 › z1-r1-n1" in shown
    assert "<svg" in shown


def test_a_gang_that_is_too_large_is_told_what_it_lacks_where(
    observed: Cluster, project: Any, client: Client, admin: Any
) -> None:
    """A rack has two nodes of 8 GPUs."""
    client.force_login(admin)

    shown = fragment(client, project, graph(16, 8, required=RACKS[1]))

    assert "It asks for 24 GPUs inside one rack. The largest rack of the pool, z1-r1, has 16: 8 short." in shown


def test_an_alternative_is_offered_and_taken(observed: Cluster, project: Any, client: Client, admin: Any) -> None:
    for node in ALL_NODES:
        occupy(observed, node, 4)
    client.force_login(admin)
    source = graph(4, 8, required=RACKS[1])

    shown = fragment(client, project, source)
    assert "4 GPUs fewer per pod of decode (4): runs now in rack" in shown
    assert 'value="role-1-gpus=4"' in shown

    fields = {"role-0-name": "prefill", "role-1-name": "decode", "role-0-gpus": "4", "role-1-gpus": "8"}
    fields |= {"required_level": RACKS[1], "preferred_level": "", "view": "form", "name": "chat"}
    posted = {"project": str(project.pk), "source": source, "alternative": "role-1-gpus=4", **fields}
    page = client.post(reverse("workloads:new"), posted).content.decode()
    assert 'name="role-1-gpus" value="4"' in page
    assert not Workload.objects.exists()


def test_a_field_that_no_preview_offers_is_not_set(
    observed: Cluster,
    project: Any,
    client: Client,
    admin: Any,
) -> None:
    client.force_login(admin)
    posted = {"project": str(project.pk), "source": graph(1, 1), "view": "yaml", "alternative": "action=submit"}

    assert client.post(reverse("workloads:new"), posted).status_code == 200
    assert not Workload.objects.exists()


def test_a_document_that_cannot_be_read_has_no_preview(
    observed: Cluster,
    project: Any,
    client: Client,
    admin: Any,
) -> None:
    client.force_login(admin)

    assert "It is shown when the document can be read." in fragment(client, project, "kind: [")


def test_who_may_submit_nowhere_gets_no_preview(
    observed: Cluster,
    project: Any,
    client: Client,
    viewer: Any,
) -> None:
    client.force_login(viewer)

    assert "workloads:create" in fragment(client, project, graph(1, 1), status=403)


def ask(client: Client, path: str, body: Any, status: int) -> Any:
    answer = client.post(path, json.dumps(body), content_type="application/json")
    assert answer.status_code == status, answer.content[:1000]
    return answer.json()


def test_rest_and_dry_run_give_the_pages_answer(
    observed: Cluster,
    project: Any,
    client: Client,
    admin: Any,
) -> None:
    client.force_login(admin)
    encoded = base64.b64encode(graph(8, 8, required=RACKS[1]).encode()).decode()
    body = {"metadata": {"projectId": str(project.pk)}, "manifestBase64Encoded": encoded}

    preview = ask(client, "/api/v1/workloads/preview", body, 200)
    dry = ask(client, "/api/v2/workloads?dryRun=true", body, 202)

    assert preview["verdict"] == "now"
    assert [node["node"] for node in preview["nodes"]] == ["z1-r1-n1", "z1-r1-n2"]
    aged = {"observedAt", "ageSeconds"}
    assert {k: v for k, v in dry["placement"].items() if k not in aged} == {
        k: v for k, v in preview.items() if k not in aged
    }
    assert not Workload.objects.exists()
    assert "placement" not in ask(client, "/api/v2/workloads", body, 202)


def test_a_preview_by_rest_names_what_is_wrong(
    observed: Cluster,
    project: Any,
    client: Client,
    admin: Any,
) -> None:
    client.force_login(admin)

    answer = ask(client, "/api/v1/workloads/preview", {"metadata": {"projectId": str(project.pk)}}, 400)

    assert "manifest" in json.dumps(answer)
