"""What somebody else saved since a form was opened is never overwritten; what was typed stays."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from topology.models import NetworkTopology, NodePool


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    return client_of(admin)


@pytest.mark.parametrize("wrong", ["-1", "0", "1e-400", "1_000", "٣", "NaN", ""])
def test_a_distance_that_is_refused_stands_there_as_it_was_typed(
    page: Client, topology: NetworkTopology, wrong: str
) -> None:
    url = f"/network-topologies/{topology.pk}/links/"
    fields = {f"{kind}-{i}": "7" for i in range(3) for kind in ("latency", "bandwidth")}

    refused = page.post(url, {**fields, "bandwidth-2": wrong, "generation": str(topology.generation)})

    shown = refused.content.decode()
    assert (refused.status_code, f"“{wrong}” is not a figure" in shown) == (422, True)
    assert shown.count('value="7"') == 5
    assert f'name="bandwidth-2" inputmode="decimal" required value="{wrong}"' in shown


def test_distances_that_somebody_saved_meanwhile_are_not_overwritten(page: Client, topology: NetworkTopology) -> None:
    url = f"/network-topologies/{topology.pk}/links/"
    opened = page.get(url).context["generation"]
    fields = {f"{kind}-{i}": "7" for i in range(3) for kind in ("latency", "bandwidth")}
    page.post(url, {**fields, "generation": opened})

    stale = page.post(url, {**fields, "latency-0": "9", "generation": opened})

    assert (stale.status_code, "changed by somebody else" in stale.content.decode()) == (422, True)
    topology.refresh_from_db()
    assert [link["latencyMicroseconds"] for link in topology.links] == [7, 7, 7]


def test_a_pool_that_got_another_topology_meanwhile_keeps_it(
    page: Client, topology: NetworkTopology, pool: NodePool
) -> None:
    """Two tabs: one detaches what it sees attached, the other has attached something else since."""
    other = NetworkTopology.objects.create(cluster=pool.cluster, name="other", levels=["example.com/row"])
    NodePool.objects.filter(pk=pool.pk).update(network_topology=other)
    url = f"/node-pools/{pool.pk}/attach/"

    for seen in ({"attached": topology.pk}, {"attached": ""}, {}):
        answer = page.post(url, {"topology": "", **seen}, follow=True)

        assert "changed by somebody else" in answer.content.decode()
        assert NodePool.objects.get(pk=pool.pk).network_topology == other


@pytest.mark.parametrize("address", ["/node-pools/{pool}/", "/network-topologies/{topology}/"])
def test_every_form_that_attaches_says_what_it_sees_attached(
    page: Client, topology: NetworkTopology, pool: NodePool, address: str
) -> None:
    NodePool.objects.filter(pk=pool.pk).update(network_topology=topology)

    shown = page.get(address.format(pool=pool.pk, topology=topology.pk)).content.decode()

    assert f'name="attached" value="{topology.pk}"' in shown
