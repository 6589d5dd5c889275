"""The search of everything: what is found, by whom, and what nonsense it takes."""

from typing import Any

import pytest
from django.test import Client

FRAGMENT = {"HX-Request": "true"}


def ask(client: Client, q: str) -> str:
    response = client.get("/search", {"q": q}, headers=FRAGMENT)
    assert response.status_code == 200
    return response.content.decode()


def test_objects_are_found_by_a_part_of_their_name(admin: Any, client_of: Any, project: Any) -> None:
    answer = ask(client_of(admin), project.name[1:-1].upper())

    assert f'href="/projects/{project.pk}/"' in answer
    assert project.name in answer


def test_a_cluster_is_found_by_its_id(admin: Any, client_of: Any, cluster: Any) -> None:
    assert f'href="/clusters/{cluster.pk}/"' in ask(client_of(admin), str(cluster.pk))


def test_pages_are_found_by_their_name(admin: Any, client_of: Any) -> None:
    assert 'href="/network-topologies/"' in ask(client_of(admin), "topolog")


def test_every_page_of_the_navigation_is_found(admin: Any, outsider: Any, client_of: Any) -> None:
    """Those that need no right, such as one's own access keys, too."""
    for user in (admin, outsider):
        client = client_of(user)
        offered = {entry.url for group in client.get("/account/rights").context["nav"] for entry in group.entries}

        assert {result.url for group in client.get("/search").context["groups"] for result in group.results} == offered
    assert "/access/access-keys/" in offered


def test_what_one_may_not_see_is_not_found(outsider: Any, client_of: Any, project: Any, cluster: Any) -> None:
    client = client_of(outsider)

    assert "/projects/" not in ask(client, project.name)
    assert "/clusters/" not in ask(client, cluster.name)


@pytest.mark.parametrize("q", ["%", "a\x00b", "x" * 5000, "'; drop table", "🦙"])
def test_nonsense_finds_nothing_and_does_not_fail(admin: Any, client_of: Any, q: str) -> None:
    assert "Nothing is named like" in ask(client_of(admin), q)


def test_without_script_it_is_a_page(admin: Any, client_of: Any, project: Any) -> None:
    response = client_of(admin).get("/search", {"q": project.name})

    assert "<h1>Search" in response.content.decode()
