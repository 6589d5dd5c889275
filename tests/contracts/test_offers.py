"""No page offers somebody what they are then refused."""

import re
from html import unescape

import pytest
from django.test import Client

from tests.contracts.urlconf import path_of, routes

MAIN = re.compile(r"<main.*</main>", re.DOTALL)
OFFERED = re.compile(r'(?:href|action|formaction|hx-get)="(/[^"#]*)"')


def offers(page: str) -> set[str]:
    main = MAIN.search(page)
    return {unescape(address) for address in OFFERED.findall(main[0] if main else "")}


@pytest.mark.parametrize("person", ["viewer", "researcher", "department_admin"])
def test_nobody_is_offered_what_they_may_not_do(person, request, cast, client_of):
    client: Client = client_of(request.getfixturevalue(person))
    pages = {path_of(route, cast) for route in routes() if not route.is_api and route.name != "accounts:logout"}
    offered: dict[str, str] = {}
    statuses: dict[str, int] = {}
    for address in sorted(pages):
        answer = client.get(address)
        statuses[address] = answer.status_code
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            found = {offer.partition("?")[0] for offer in offers(answer.content.decode())}
            offered |= dict.fromkeys(found, address)
    statuses |= {address: client.get(address).status_code for address in offered.keys() - statuses.keys()}

    # What an address is refused to by GET, its button is refused to by POST.
    assert len(offered) > 20
    assert {address: page for address, page in offered.items() if statuses[address] == 403} == {}
