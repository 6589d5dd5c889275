"""The pages: who sees what, what they show, and what their forms do."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from clusters.models import Pod
from tests.workloads.samples import DISAGG, MULTINODE
from workloads.document import load
from workloads.models import Workload
from workloads.words import condition_view

PASTED = DISAGG.replace("runai-project-a", "runai-assistant")
RACK = "topology.kubernetes.io/rack"


@pytest.fixture
def workload(submit: Any) -> Workload:
    row = submit(PASTED.replace("preferred-placement", "required-placement").replace("zone", "rack"))
    Workload.objects.update(
        phase="Pending",
        waiting_since=timezone.now(),
        waiting_reason={
            "code": "LevelTooSmall",
            "arguments": {"level": RACK, "asked": "32", "largest": "24", "largestDomain": "r1", "short": "8"},
            "words": ["node-group(s) didn't have enough resources: GPUs."],
        },
        roles=[{"component": "Frontend", "type": "frontend", "gpusEach": "0", "desired": 1, "placed": 0, "ready": 0}],
        placement={"state": "waits", "level": "", "domains": [], "lost": [], "outside": []},
        conditions=[
            {
                "type": "PlacementArrived",
                "status": "False",
                "reason": "NotOnPodGroup",
                "message": "x",
                "lastTransitionTime": "2026-11-29T18:00:00Z",
                "arguments": {"wanted": "rack", "found": ""},
            }
        ],
    )
    row.refresh_from_db()
    return row


def pages(workload: Workload) -> list[str]:
    return [reverse(f"workloads:{name}", args=[workload.pk]) for name in ("detail", "logs", "events", "yaml")]


def test_the_list_says_why_in_a_phrase(workload: Workload, client_of: Any, viewer: Any) -> None:
    text = client_of(viewer).get(reverse("workloads:list")).content.decode()

    assert "32 in one rack; largest is 24" in text
    assert "wants" in text
    assert 'class="num"' in text


def test_19_saved_views_count_what_the_list_shows(workload: Workload, submit: Any, client_of: Any, viewer: Any) -> None:
    submit(MULTINODE)
    response = client_of(viewer).get(reverse("workloads:list"), {"filter": "phase==Pending"})

    table = response.context["table"]
    assert [(str(view.label), view.count) for view in table.views[:2]] == [("All", 2), ("Waiting", 1)]
    assert table.total == 1


def test_19_a_deleted_one_leaves_every_count_at_once(
    workload: Workload, submit: Any, client_of: Any, admin: Any
) -> None:
    """A blocker and two that wait; one of these is deleted."""
    client, waiting = client_of(admin), [submit(MULTINODE.replace("name: qwen", f"name: q-{n}")) for n in (1, 2)]
    Workload.objects.filter(pk__in=[row.pk for row in waiting]).update(phase="Pending", waiting_since=timezone.now())
    Workload.objects.filter(pk=workload.pk).update(phase="Running")

    def counts() -> set[int]:
        table = client.get(reverse("workloads:list"), {"filter": "phase==Pending"}).context["table"]
        overview = client.get("/").context
        return {
            table.total,
            next(view.count for view in table.views if str(view.label) == "Waiting"),
            next(row.count for row in overview["phases"] if row.phase == "Pending"),
            sum(row.count for row in overview["causes"]),
            client.get("/api/v1/workloads/count?filterBy=phase==Pending").json()["count"],
        }

    assert counts() == {2}
    client.post(reverse("workloads:delete", args=[waiting[0].pk]), {"confirm": "q-1"})
    assert counts() == {1}


def test_an_outsider_sees_no_row_and_404(workload: Workload, client_of: Any, outsider: Any) -> None:
    client = client_of(outsider)

    assert client.get(reverse("workloads:list")).context["table"].total_all == 0
    assert [client.get(page).status_code for page in pages(workload)] == [404] * 4


def test_every_page_of_a_workload_renders(workload: Workload, client_of: Any, viewer: Any, gateway: Any) -> None:
    client = client_of(viewer)

    assert [client.get(page).status_code for page in pages(workload)] == [200] * 4


def test_the_page_says_which_level_is_short_by_how_many(workload: Workload, client_of: Any, viewer: Any) -> None:
    text = client_of(viewer).get(reverse("workloads:detail", args=[workload.pk])).content.decode()

    assert "It asks for 32 GPUs inside one rack. The largest rack of the pool, r1, has 24: 8 short." in text
    assert "node-group(s) didn&#x27;t have enough resources" in text
    assert "The placement did not arrive" in text


def test_a_viewer_has_no_buttons_and_cannot_act(workload: Workload, client_of: Any, viewer: Any) -> None:
    client = client_of(viewer)

    text = client.get(reverse("workloads:detail", args=[workload.pk])).content.decode()
    assert "Suspend" not in text
    for act in ("suspend", "resume", "scale", "delete"):
        assert client.post(reverse(f"workloads:{act}", args=[workload.pk])).status_code in (302, 403)
    workload.refresh_from_db()
    assert (workload.generation, workload.deletion_requested_at) == (1, None)


def test_the_form_is_shown_with_checks_and_the_manifest(
    project: Any, quota: Any, topology: Any, nodes: Any, client_of: Any, researcher: Any
) -> None:
    response = client_of(researcher).get(reverse("workloads:new"))

    text = response.content.decode()
    assert response.status_code == 200
    assert 'name="role-1-replicas" value="2"' in text
    assert "nvidia.com/kai-scheduler-queue: assistant" in text


def form(source: str, project: Any, **data: str) -> dict[str, str]:
    return {"source": source, "project": str(project.pk), "view": "form", **data}


def test_submitting_the_form_makes_the_workload(
    project: Any, quota: Any, topology: Any, nodes: Any, client_of: Any, researcher: Any
) -> None:
    roles = {"role-0-name": "Frontend", "role-1-name": "VllmDecodeWorker", "role-1-replicas": "4"}
    data = form(PASTED, project, name="mine", required_level=RACK, node_pool="default", action="submit", **roles)

    response = client_of(researcher).post(reverse("workloads:new"), data)

    workload = Workload.objects.get()
    assert response.headers["Location"] == reverse("workloads:detail", args=[workload.pk])
    assert (workload.name, workload.required_level, workload.gpus_requested) == ("mine", RACK, 5)
    assert "# as many as prefill" in workload.source


def test_30_levels_follow_the_pool_and_a_stale_level_is_not_sent(
    project: Any, quota: Any, topology: Any, h200: Any, client_of: Any, researcher: Any
) -> None:
    data = form(PASTED, project, node_pool="h200", required_level=RACK, **{"role-0-name": "Frontend"})

    response = client_of(researcher).post(reverse("workloads:new"), data)

    page = response.context["page"]
    assert page.levels == ()
    assert page.pool.name == "h200"
    assert "topology" not in str(load(page.source)["metadata"])
    assert [check.code for check in page.blocking] == ["QueueMissing"]


def test_what_blocks_is_said_and_nothing_is_written(
    project: Any, quota: Any, topology: Any, nodes: Any, client_of: Any, researcher: Any
) -> None:
    data = form(PASTED.replace('gpu: "1"', 'gpu: "9"'), project, view="yaml", action="submit")

    response = client_of(researcher).post(reverse("workloads:new"), data)

    assert response.status_code == 422
    assert "the largest node of pool default has 8" in response.content.decode()
    assert not Workload.objects.exists()


def test_broken_yaml_comes_back_as_it_was_typed(
    project: Any, quota: Any, topology: Any, client_of: Any, researcher: Any
) -> None:
    response = client_of(researcher).post(reverse("workloads:new"), form("a: [1", project))

    assert response.context["page"].view == "yaml"
    assert "a: [1" in response.content.decode()


def test_scaling_suspending_and_deleting_from_the_page(workload: Workload, client_of: Any, researcher: Any) -> None:
    client = client_of(researcher)
    client.post(reverse("workloads:scale", args=[workload.pk]), {"component": "VllmDecodeWorker", "replicas": "3"})
    client.post(reverse("workloads:suspend", args=[workload.pk]))
    wrong = client.post(reverse("workloads:delete", args=[workload.pk]), {"confirm": "other"})
    workload.refresh_from_db()
    assert (workload.gpus_requested, workload.desired_phase, wrong.status_code) == (4, "Stopped", 422)

    client.post(reverse("workloads:delete", args=[workload.pk]), {"confirm": workload.name})

    workload.refresh_from_db()
    assert workload.is_being_deleted


def test_editing_names_what_cannot_change_and_saves_what_can(
    workload: Workload, client_of: Any, researcher: Any
) -> None:
    client, url = client_of(researcher), reverse("workloads:edit", args=[workload.pk])
    source = workload.source
    generation = {"generation": "1", "action": "save"}

    refused = client.post(url, {"source": source.replace("Frontend:", "Front:"), **generation})
    saved = client.post(url, {"source": source.replace("replicas: 2", "replicas: 3"), **generation})
    stale = client.post(url, {"source": source, **generation})

    assert (refused.status_code, saved.status_code, stale.status_code) == (422, 302, 422)
    assert "suspend it first" in refused.content.decode()


def test_91_a_log_is_found_by_the_pods_name_and_by_its_uid(
    workload: Workload, client_of: Any, viewer: Any, gateway: Any
) -> None:
    Pod.objects.create(
        cluster=workload.cluster,
        uid="uid-1",
        name="vllm-disagg-0-frontend-abcde",
        namespace="runai-assistant",
        resource_version="1",
        created_at=timezone.now(),
        phase="Running",
        node_name="gpu-a1-1",
        graph="vllm-disagg",
    )
    path = "/api/v1/namespaces/runai-assistant/pods/vllm-disagg-0-frontend-abcde/log?container=main&tailLines=500"
    gateway.texts[path] = "listening on 8000"
    client, url = client_of(viewer), reverse("workloads:logs", args=[workload.pk])

    for key in ("vllm-disagg-0-frontend-abcde", "uid-1"):
        assert "listening on 8000" in client.get(url, {"pod": key}).content.decode()
    assert client.get(url, {"pod": "another"}).status_code == 404
    Pod.objects.filter(uid="uid-1").update(node_name="", phase="Pending")
    waiting = client.get(url, {"pod": "uid-1"}).content.decode()
    assert "The pod has no node yet" in waiting
    assert "could not be read" not in waiting


def test_selected_workloads_are_suspended_and_a_viewer_selects_none(
    workload: Workload, submit: Any, client_of: Any, researcher: Any, viewer: Any
) -> None:
    other = submit(MULTINODE)
    pks = {"pk": [str(workload.pk), str(other.pk)]}

    client_of(viewer).post(reverse("workloads:bulk", args=["suspend"]), pks)
    assert set(Workload.objects.values_list("desired_phase", flat=True)) == {"Running"}
    client_of(researcher).post(reverse("workloads:bulk", args=["suspend"]), pks)

    assert set(Workload.objects.values_list("desired_phase", flat=True)) == {"Stopped"}
    assert "data-select-all" not in client_of(viewer).get(reverse("workloads:list")).content.decode()
    assert client_of(researcher).post(reverse("workloads:bulk", args=["explode"]), pks).status_code == 404


def test_a_bulk_act_reports_of_each_row_and_one_that_fails_stops_none(
    workload: Workload, submit: Any, client_of: Any, researcher: Any
) -> None:
    """One is suspended, one was so already, one is being deleted, one is not there."""
    running, stopped, going = workload, *(submit(MULTINODE.replace("name: qwen", f"name: q-{n}")) for n in (1, 2))
    Workload.objects.filter(pk=stopped.pk).update(desired_phase="Stopped")
    Workload.objects.filter(pk=going.pk).update(deletion_requested_at=timezone.now())
    absent = "00000000-0000-4000-8000-000000000000"
    pks = [str(going.pk), absent, str(stopped.pk), str(running.pk), str(running.pk)]

    answer = client_of(researcher).post(reverse("workloads:bulk", args=["suspend"]), {"pk": pks}, follow=True)

    assert [(message.level_tag, str(message)) for message in answer.context["messages"]] == [
        ("success", "Being suspended: vllm-disagg."),
        ("info", "Suspended already: q-1."),
        ("error", "q-2: Workload q-2 is being deleted."),
        ("error", "one that you do not see any more: Resource id not found."),
    ]
    assert set(Workload.objects.values_list("name", "desired_phase")) == {
        ("vllm-disagg", "Stopped"),
        ("q-1", "Stopped"),
        ("q-2", "Running"),
    }


def test_the_list_costs_the_same_number_of_queries_however_long_it_is(
    workload: Workload, submit: Any, client_of: Any, viewer: Any, django_assert_max_num_queries: Any
) -> None:
    client = client_of(viewer)
    for number in range(5):
        submit(MULTINODE.replace("name: qwen", f"name: qwen-{number}"))

    with django_assert_max_num_queries(13):
        client.get(reverse("workloads:list"))


def test_t1_zero_is_printed_as_zero(workload: Workload, client_of: Any, viewer: Any) -> None:
    Workload.objects.update(gpus_held=0, gpus_requested=0)

    text = client_of(viewer).get(reverse("workloads:list")).content.decode()

    assert text.count('<span class="zero">0</span>') >= 2
    assert "N/A" not in text


def test_t2_a_false_condition_that_stands_first_is_not_the_phase(
    workload: Workload, client_of: Any, viewer: Any
) -> None:
    Workload.objects.update(phase="Running")

    text = client_of(viewer).get(reverse("workloads:detail", args=[workload.pk])).content.decode()

    head = text[text.index('id="head-phase"') :][:400]
    assert "Running" in head
    assert "PlacementArrived" not in head


def test_t3_the_same_name_in_two_clusters_is_two_rows(
    workload: Workload, client_of: Any, admin: Any, actor: Any
) -> None:
    from clusters.models import Cluster
    from organizations.models import Department, Project, Quota
    from topology.models import NodePool
    from workloads.services import submit_workload

    other = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:1", credential=b"")
    pool = NodePool.objects.create(cluster=other, name="default")
    department = Department.objects.create(cluster=other, name="research")
    project = Project.objects.create(cluster=other, department=department, name="assistant", namespace="elsewhere")
    Quota.objects.create(cluster=other, project=project, node_pool=pool, queue_name="assistant")
    source = MULTINODE.replace("name: qwen", "name: vllm-disagg")
    twin = submit_workload(actor(admin), project=project, source=source)

    text = client_of(admin).get(reverse("workloads:list")).content.decode()
    one = client_of(admin).get(reverse("workloads:list"), {"cluster": "cluster-b"}).context["table"]

    assert f'id="row-{workload.pk}"' in text
    assert f'id="row-{twin.pk}"' in text
    assert [row.pk for row in one.rows] == [twin.pk]


def test_t11_more_held_than_asked_is_shown_and_not_clamped(workload: Workload, client_of: Any, viewer: Any) -> None:
    Workload.objects.update(gpus_held=40, gpus_requested=32)

    text = client_of(viewer).get(reverse("workloads:list")).content.decode()

    assert '<td class="num" data-label="Held">40</td>' in text
    assert '<td class="num" data-label="GPUs asked">32</td>' in text


def test_79_a_page_draws_a_bounded_number_of_pods(workload: Workload, client_of: Any, viewer: Any) -> None:
    Pod.objects.bulk_create(
        Pod(
            cluster=workload.cluster,
            uid=f"uid-{number}",
            name=f"vllm-disagg-0-{number:04d}",
            namespace="runai-assistant",
            resource_version="1",
            created_at=timezone.now(),
            phase="Pending",
            graph="vllm-disagg",
        )
        for number in range(300)
    )

    client, url = client_of(viewer), reverse("workloads:detail", args=[workload.pk])
    text = client.get(url).content.decode()

    assert text.count("?pod=vllm-disagg-0-") == 50
    assert "50 of 300" in text
    assert "?pods=2#workload-pods" in text
    last = client.get(url, {"pods": "6"}).content.decode()
    assert "vllm-disagg-0-0299" in last
    assert "vllm-disagg-0-0249" not in last
    assert "vllm-disagg-0-0000" in client.get(url, {"pods": "no number"}).content.decode()


def test_81_clearing_the_filters_shows_the_whole_list_again(
    workload: Workload, submit: Any, client_of: Any, viewer: Any
) -> None:
    submit(MULTINODE)
    client, url = client_of(viewer), reverse("workloads:list")

    totals = [
        client.get(url, query).context["table"].total for query in ({"filter": "phase==Pending"}, {}, {"q": "qwen"})
    ]

    assert totals == [1, 2, 1]


def test_a_placement_that_arrived_is_told_in_words() -> None:
    def told(wanted: str) -> str:
        arguments = {"wanted": wanted, "found": wanted}
        return condition_view({"type": "PlacementArrived", "status": "True", "arguments": arguments}).text

    assert told(f"mine {RACK} {RACK}") == "The placement arrived: the pod group has topology mine, one rack required."
    both = "The placement arrived: the pod group has topology mine, one rack required, one host preferred."
    assert told(f"mine {RACK} kubernetes.io/hostname") == both
    assert told(f"mine {RACK}") == "The placement arrived: the pod group has topology mine, one rack preferred."
