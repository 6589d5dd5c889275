"""Traps that other consoles fell into, on the list of nodes: one page sorted, pages that cost ever more, zeros."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster, Node
from tests.clusters.builders import AT, add_node

PAGES = 4


@pytest.fixture
def many(watched: Cluster) -> Cluster:
    """200 nodes of 0 to 199 GPUs, their names in another order than their sizes."""
    Node.objects.bulk_create(
        Node(
            cluster=watched, uid=f"uid-{n}", name=f"n{n * 7 % 200:03}", resource_version="1", created_at=AT,
            ready="True", gpu_capacity=n, gpu_allocatable=n,
        )
        for n in range(200)
    )  # fmt: skip
    return watched


def names(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r">(n\d{3})<", text)))


@pytest.mark.usefixtures("many")
def test_trap_t6_the_whole_list_is_sorted_and_not_the_page_that_is_shown(page: Callable[..., str]) -> None:
    largest_first = [f"n{n * 7 % 200:03}" for n in range(199, -1, -1)]

    shown = [names(page("node-list", sort="-gpu_capacity", page=number)) for number in range(1, PAGES + 1)]

    # A column of numbers begins with its largest in one of the two directions.
    flat = [name for one in shown for name in one]
    assert flat in (largest_first, largest_first[::-1])
    other = names(page("node-list", sort="gpu_capacity", page=1))
    assert other == (largest_first[:50] if flat[0] != largest_first[0] else largest_first[::-1][:50])


@pytest.mark.usefixtures("many")
def test_trap_t7_the_last_page_costs_as_many_statements_as_the_first(page: Callable[..., str]) -> None:
    def cost(number: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert len(names(page("node-list", page=number))) == 50
        return len(captured)

    cost(1)
    assert cost(PAGES) == cost(1)


def test_trap_t5_a_cluster_that_does_not_answer_keeps_its_numbers_and_is_said_to_be_old(
    page: Callable[..., str], cluster: Cluster
) -> None:
    add_node(cluster, "n001")
    Cluster.objects.update(phase="Disconnected", watcher="", watcher_until=None)

    text = page("node-list")

    assert names(text) == ["n001"]
    assert "cluster-a is not watched at the moment: what you see is from the time it was last heard." in text


def test_field_report_62_mebibytes_are_never_labelled_as_megabytes(page: Callable[..., str], watched: Cluster) -> None:
    node: Any = add_node(watched, "n001", gpu_memory_mib=81559)

    for text in (page("node-list"), page("node-detail", node.pk)):
        plain = text.replace("\u00a0", " ")
        assert not re.search(r"81[,.\u202f ]?559 MB|\b8[0-9][.,]\d+ (GB|MB)\b", plain)
    assert re.search(r"(79\.6|80) GiB|81[, ]?559 MiB", page("node-detail", node.pk).replace("\u00a0", " "))
