"""The lists of what others made in a cluster and of what was taken over, on observed rows; the acts themselves are
tested on API servers (tests/clusters/test_adopting.py)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from clusters.kinds import KAI_QUEUE, KAI_TOPOLOGY
from clusters.models import Adoption, Cluster, ClusterObject
from controlplane.adopt_views import KINDS
from organizations.models import Department, Project
from tests.organizations.shard_rows import add_object
from topology.models import NodePool

pytestmark = pytest.mark.django_db
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def others(cluster: Cluster, default_pool: NodePool) -> Cluster:
    """A topology of helm, 60 queues at the top of argocd, one below a queue that is not there."""
    add_object(cluster, KAI_TOPOLOGY, "fabric", spec={"levels": [{"nodeLabel": ZONE}]})
    for number in range(60):
        add_object(cluster, KAI_QUEUE, f"team-{number:02d}", spec={})
    add_object(cluster, KAI_QUEUE, "orphan", spec={"parentQueue": "gone"})
    ClusterObject.objects.filter(plural="topologies").update(made_by="helm")
    ClusterObject.objects.filter(plural="queues").update(made_by="argocd")
    streams = {kind: {"listedAt": timezone.now().isoformat()} for kind in KINDS}
    Cluster.objects.filter(pk=cluster.pk).update(streams=streams, served={"grove.io": {}})
    return cluster


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    client: Client = client_of(admin)
    return client


def names(page: Client, cluster: Cluster, query: str) -> list[str]:
    answer = page.get(reverse("cluster-adopt", args=[cluster.pk]) + query)
    assert answer.status_code == 200
    return [row.found.name for row in answer.context["table"].rows]


def test_objects_of_others_are_searched_filtered_sorted_and_paged(page: Client, others: Cluster) -> None:
    assert names(page, others, "") == ["orphan", *(f"team-{n:02d}" for n in range(49))]
    assert names(page, others, "?page=2") == [*(f"team-{n:02d}" for n in range(49, 60)), "fabric"]
    assert names(page, others, "?q=team+59") == ["team-59"]
    assert names(page, others, "?q=helm") == ["fabric"]
    assert names(page, others, "?filter=state==blocked") == ["orphan"]
    assert names(page, others, "?filter=kind==topologies&filter=state==free") == ["fabric"]
    assert names(page, others, "?sort=-kind&filter=name~=a")[:2] == ["fabric", "team-59"]


def test_why_an_object_cannot_be_taken_over_is_in_the_list_and_its_csv(page: Client, others: Cluster) -> None:
    url = reverse("cluster-adopt", args=[others.pk])

    shown = page.get(url, {"filter": "state==blocked"}).content.decode()
    text = b"".join(page.get(url, {"format": "csv", "filter": "state==blocked"}).streaming_content).decode()

    assert "Its parent gone is not in the cluster." in shown
    assert text.splitlines()[1] == "orphan,Queue,argocd,Project orphan,Its parent gone is not in the cluster."


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priority": "high"}, "Its priority is not a whole number."),
        ({"resources": {"gpu": {"quota": "8k", "limit": "lots"}}}, "is not a number."),
    ],
)
def test_a_queue_with_texts_for_numbers_is_blocked_and_breaks_no_page(
    page: Client, cluster: Cluster, default_pool: NodePool, spec: dict[str, Any], why: str
) -> None:
    add_object(cluster, KAI_QUEUE, "odd", spec=spec)

    shown = page.get(reverse("cluster-adopt", args=[cluster.pk]), {"filter": "state==blocked"})

    assert [row.found.name for row in shown.context["table"].rows] == ["odd"]
    assert why in shown.content.decode()
    (queue,) = page.get(reverse("organizations:department-list")).context["foreign"]
    assert (queue.name, queue.quota, queue.limit) == ("odd", None, None)


def test_nothing_chosen_is_refused_and_the_list_stays(page: Client, others: Cluster) -> None:
    answer = page.post(reverse("cluster-adopt", args=[others.pk]) + "?q=fabric", {"compare": "1"})

    assert answer.status_code == 422
    assert "Choose at least one object." in answer.content.decode()
    assert [row.found.name for row in answer.context["table"].rows] == ["fabric"]


def test_the_list_asks_the_database_as_often_for_sixty_objects_as_for_one(
    page: Client, others: Cluster, django_assert_max_num_queries: Any
) -> None:
    """Twelve of the list's own; the rest is the page's frame."""
    for kind in ("topology", "binding"):
        for number in range(20):
            add_object(others, KAI_TOPOLOGY, f"{kind}-{number}", spec={"levels": [{"nodeLabel": ZONE}]})

    with django_assert_max_num_queries(30):
        page.get(reverse("cluster-adopt", args=[others.pk]))


def test_what_is_not_read_yet_is_not_called_nothing(page: Client, cluster: Cluster) -> None:
    url = reverse("cluster-adopt", args=[cluster.pk])

    assert "have not been read from this cluster yet" in page.get(url).content.decode()
    streams = {kind: {"listedAt": timezone.now().isoformat()} for kind in KINDS}
    Cluster.objects.filter(pk=cluster.pk).update(streams=streams)
    assert "Nobody else made topologies, queues or graphs here." in page.get(url).content.decode()


def taken(cluster: Cluster, row: Department | Project, name: str, **more: Any) -> Adoption:
    return Adoption.objects.create(
        cluster=cluster, owner=f"{row._meta.label}.{row.pk}", group=KAI_QUEUE.group, version=KAI_QUEUE.version,
        kind=KAI_QUEUE.kind, plural=KAI_QUEUE.plural, name=name, uid=f"uid-{name}", before={}, made_by="argocd",
        by="admin@example.org", **more,
    )  # fmt: skip


def test_what_was_taken_over_is_listed_by_its_state_with_its_row(
    page: Client, department: Department, project: Project
) -> None:
    cluster, now = project.cluster, timezone.now()
    taken(cluster, department, "research", taken_at=now)
    taken(cluster, project, "assistant", taken_at=now, release_requested_at=now)
    taken(cluster, project, "late")
    url = reverse("cluster-release", args=[cluster.pk])

    def shown(query: str) -> list[tuple[str, str, str]]:
        rows = page.get(url + query).context["table"].rows
        return [(row.adoption.name, str(row.row), row.adoption.state) for row in rows]

    assert shown("") == [
        ("assistant", "assistant", "Releasing"), ("late", "assistant", "Adopting"), ("research", "research", "Adopted"),
    ]  # fmt: skip
    assert shown("?filter=state==Adopted") == [("research", "research", "Adopted")]
    assert shown("?q=late") == [("late", "assistant", "Adopting")]
    assert "filename=" in page.get(url, {"format": "csv"}).headers["Content-Disposition"]


def test_giving_back_says_what_goes_with_it_and_asks_for_the_name(page: Client, project: Project) -> None:
    cluster = project.cluster
    adoption = taken(cluster, project, "assistant", taken_at=timezone.now())
    url = reverse("cluster-release", args=[cluster.pk]) + "?object=uid-assistant"

    asked = page.get(url)
    refused = page.post(url, {"confirm": "another"})
    assert [hit["text"] for hit in asked.context["hits"]] == [
        "Namespace runai-assistant is deleted with all that is in it."
    ]
    assert (asked.status_code, refused.status_code) == (200, 422)
    adoption.refresh_from_db()
    assert adoption.release_requested_at is None

    done = page.post(url, {"confirm": "assistant"})

    adoption.refresh_from_db()
    project.refresh_from_db()
    assert done.status_code == 302
    assert adoption.release_requested_at is not None
    assert project.is_being_deleted
    again = page.post(url, {"confirm": "assistant"}, follow=True)
    assert "It was not taken over, or was given back." in again.content.decode()
