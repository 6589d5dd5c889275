"""A part of a page: alone for htmx, a page of its own for a link."""

from typing import Any

from django.test import Client


def test_a_part_is_alone_for_htmx_and_a_page_for_a_link(admin: Any, client_of: Any, default_pool: Any) -> None:
    client: Client = client_of(admin)
    path = f"/node-pools/{default_pool.pk}/quotas/"

    part = client.get(path, headers={"HX-Request": "true"}).content.decode()
    page = client.get(path).content.decode()

    assert part.strip().startswith("<section")
    assert "<!doctype html>" in page
    assert f'<h1><a href="/node-pools/{default_pool.pk}/">{default_pool.name}</a></h1>' in page
    assert '<a href="/node-pools/">Node pools</a></nav>' in page
    assert part.strip()[:60] in page
