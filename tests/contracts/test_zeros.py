"""Trap T5: a cluster that was never read, or does not answer any more, is not a cluster with 0 of everything.

Every list and page with figures is read while nothing is known, and again while what is known is old.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from tests.clusters.builders import add_node, add_pod
from topology.models import NetworkTopology, NodePool

LEVELS = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
LISTS = (
    "/",
    "/clusters/",
    "/nodes/",
    "/nodes/map/",
    "/node-pools/",
    "/network-topologies/",
    "/departments/",
    "/projects/",
    "/workloads/",
    "/gpu-utilisation/",
)
# What Muster itself counts and therefore knows: GPUs deserved, projects, pools, findings, workloads, queues.
KNOWN = re.compile(r"GPUs deserved|Deserved|Workloads?|Departments?|Projects?|to act on|Attached node pools|Queues")
ZERO = re.compile(r"(?<![\w.›-])0(?: of 0| › 0| %)?(?![\w.%])")


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    return client_of(admin)


@pytest.fixture
def topology(cluster: Cluster, default_pool: NodePool) -> NetworkTopology:
    row = NetworkTopology.objects.create(cluster=cluster, name="dc", levels=LEVELS)
    NodePool.objects.update(network_topology=row)
    return row


def figures(content: str) -> list[str]:
    """The cells, tiles, facts and pairs of a page as words: each with what it is a figure of."""
    main = re.search(r"<main.*?</main>", content, re.DOTALL)
    assert main
    html = re.sub(r"<svg.*?</svg>|<template.*?</template>|<select.*?</select>", "", main[0], flags=re.DOTALL)
    cells = re.findall(
        r'(<td[^>]*data-label="[^"]*"[^>]*>.*?</td>|<div class="label">.*?<div class="sub">|<dt>.*?</dd>|<h1>.*?</h1>)',
        html,
        re.DOTALL,
    )
    labelled = [re.sub(r'<td[^>]*data-label="([^"]*)"[^>]*>', r"\1: ", cell) for cell in cells]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", cell)).strip() for cell in labelled]


def zeros(content: str) -> list[str]:
    return [words for words in figures(content) if ZERO.search(words) and not KNOWN.search(words)]


def pages(cluster: Cluster, topology: NetworkTopology, pool: NodePool) -> list[str]:
    details = (f"/clusters/{cluster.pk}/", f"/node-pools/{pool.pk}/", f"/network-topologies/{topology.pk}/")
    return [*LISTS, *details]


@pytest.mark.usefixtures("project")
def test_t5_what_was_never_read_is_nowhere_a_zero(
    page: Client, cluster: Cluster, topology: NetworkTopology, default_pool: NodePool
) -> None:
    found = {path: zeros(page.get(path).content.decode()) for path in pages(cluster, topology, default_pool)}

    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("path", ["/node-pools/", "/network-topologies/", "/clusters/"])
def test_t5_the_csv_of_what_was_never_read_has_empty_cells(page: Client, topology: NetworkTopology, path: str) -> None:
    content = b"".join(page.get(path, {"format": "csv"})).decode()  # type: ignore[arg-type]

    assert len(content.splitlines()) == 2
    assert "0" not in content.splitlines()[1].replace("127.0.0.1", "").split(",")


@pytest.mark.usefixtures("project")
def test_t5_what_is_old_keeps_its_numbers_and_says_since_when(
    page: Client, cluster: Cluster, topology: NetworkTopology, default_pool: NodePool
) -> None:
    add_node(cluster, "n1", labels=dict.fromkeys(LEVELS, "a"))
    add_pod(cluster, "p1", "n1", "3")
    then = (timezone.now() - timedelta(minutes=10)).isoformat()
    state = {"listedAt": then, "eventAt": then, "error": "connection refused"}
    Cluster.objects.update(streams={"nodes": state, "pods": state}, last_contact_at=timezone.now())

    told = {path: page.get(path).content.decode() for path in pages(cluster, topology, default_pool)}

    # The overview has notices; clusters have a column for it; measurements have an age of their own (report 77).
    elsewhere = ("/", "/clusters/", "/gpu-utilisation/")
    assert [path for path, content in told.items() if path not in elsewhere and "Last heard" not in content] == []
    overview, nodes, pools = told["/"], told["/nodes/"], told["/node-pools/"]
    assert "What is shown may be outdated" in overview
    assert "GPUs 8" in figures(nodes)
    assert {"GPUs: 8", "Allocated: 3"} <= set(figures(pools))


def test_t5_a_cluster_that_was_read_and_has_nothing_has_zero(
    page: Client, cluster: Cluster, topology: NetworkTopology
) -> None:
    now = timezone.now().isoformat()
    Cluster.objects.update(streams={"nodes": {"listedAt": now, "eventAt": now}}, last_contact_at=timezone.now())

    assert "GPUs 0" in figures(page.get("/nodes/").content.decode())
    assert "GPUs: 0" in figures(page.get("/node-pools/").content.decode())
