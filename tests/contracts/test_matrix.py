"""Who is answered what, for every URL: the table in matrix.txt, which a person has read."""

import os

import pytest
from django.test import Client

from accounts.models import ScopeType
from accounts.permissions import RESEARCHER
from organizations.models import Department
from tests.conftest import make_user
from tests.contracts import matrix


@pytest.fixture
def clients(request, cast, cluster, client_of, settings):
    settings.API_REQUESTS_PER_MINUTE = 10**9
    other = Department.objects.create(cluster=cluster, name="payments", phase="Ready")
    people = {
        "no-rule": make_user("no-rule"),
        "other-department": make_user("other", RESEARCHER, ScopeType.DEPARTMENT, other.pk, cluster),
    }
    people |= {name: request.getfixturevalue(name.replace("-", "_")) for name in matrix.PEOPLE[3:]}
    return {"anonymous": Client(), **{name: client_of(user) for name, user in people.items()}}


def test_every_url_answers_every_kind_of_person_as_the_table_says(cast, clients):
    assert tuple(clients) == matrix.PEOPLE
    for client in clients.values():
        client.raise_request_exception = False
    found, table = dict(matrix.rows(cast, clients)), matrix.expected()
    assert [name for name, statuses in found.items() if "500" in statuses] == []
    if os.environ.get("MUSTER_WRITE_MATRIX") == "1":
        matrix.write(found)
        return

    assert sorted(found.keys() - table.keys()) == [], "new URLs: write the table with MUSTER_WRITE_MATRIX=1 and read it"
    assert sorted(table.keys() - found.keys()) == [], "URLs that are gone"
    wrong = {name: f"{statuses}, not {table[name]}" for name, statuses in found.items() if statuses != table[name]}
    assert wrong == {}, " ".join(matrix.PEOPLE)
