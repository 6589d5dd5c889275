"""Each field of each write that has dry runs with something else in its place, asked as a dry run: a 400 that names a
field and says why, and never a row that changed. The bodies are those of the walks, so that a new write is asked
without a line here."""

import copy
import json

import pytest

from accounts.api.shapes import RuleCreation
from core.api.shapes import check_shape
from core.errors import InvalidInput
from core.models import IdempotentAnswer
from organizations.api.shapes import ResourceGiven
from tests.api import walks_of_people, walks_of_resources  # noqa: F401 (they register the walks)
from tests.api.test_every_operation import WITHOUT_DRY_RUN, every_row
from tests.api.tour import WRITES, Tour, operation_of

INFINITE = object()
# As JSON says them; what is larger than any float is a number of JSON all the same.
WRONG = {
    "null": None,
    "a flag": True,
    "a number": -7,
    "infinity": INFINITE,
    "a text": "x\u202e\u0001",
    "a list": [["x"]],
    "an object": {"a": [1]},
}
# What a manifest may hold is told by its own rules (tests/workloads); here a few of its fields stand for it.
DEEPEST = 4


class Hostile(Tour):
    """A walk that spoils every body of one operation before it sends it as it is."""

    operation = ""
    broken: list

    def ask(self, method, path, body=None, **headers):
        if operation_of(method, path) == self.operation and body:
            self.spoil(method, path, body, headers)
        return super().ask(method, path, body, **headers)

    def spoil(self, method, path, body, headers):
        before = every_row()
        for place in places(body):
            for name, value in WRONG.items():
                answer = self.send(method, path, replaced(body, place, value), headers)
                if fault := fault_of(answer):
                    self.broken.append((method, path, place, name, fault))
        assert every_row() == before

    def send(self, method, path, body, headers):
        text = json.dumps(body, default=lambda _infinite: "1e999").replace('"1e999"', "1e999")
        url = f"{path}{'&' if '?' in path else '?'}dryRun=true"
        answer = self.client.generic(method, url, text, content_type="application/json", headers=headers)
        IdempotentAnswer.objects.all().delete()
        return answer


def fault_of(answer):
    """What is wrong with an answer to a spoilt body; some fields may hold such a value, then it is a success."""
    if answer.status_code < 300:
        return ""
    told = answer.json()
    if answer.status_code not in (400, 403, 404, 409) or told.get("code") != answer.status_code:
        return f"{answer.status_code} {told}"
    if answer.status_code == 400 and not all(fault["message"] for fault in told.get("faults", ())):
        return f"a fault that says nothing: {told}"
    return "" if told.get("message") else "no message"


def places(body, before=()):
    yield before
    if len(before) < DEEPEST:
        items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
        for key, value in items:
            yield from places(value, (*before, key))


def replaced(body, place, value):
    if not place:
        return value
    body = copy.deepcopy(body)
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return body


@pytest.fixture
def tour(api, world, gateway, settings):
    settings.API_REQUESTS_PER_MINUTE = 10**9
    for row in (world.cluster, world.topology, world.pool, world.department, world.project, world.running):
        type(row).objects.filter(pk=row.pk).update(observed_generation=row.generation)
    api.raise_request_exception = False
    hostile = Hostile(api, world)
    hostile.broken = []
    return hostile


@pytest.mark.parametrize("operation", sorted(set(WRITES) - WITHOUT_DRY_RUN))
def test_something_else_in_a_fields_place_is_refused_with_its_reason(tour, operation):
    tour.operation = operation

    WRITES[operation](tour)

    assert tour.broken == []


def test_what_is_no_value_of_a_list_of_values_is_told_the_values():
    body = {"subjectId": "a@b.co", "subjectType": "user", "roleId": 1, "scopeType": "planet", "scopeId": "1"}

    with pytest.raises(InvalidInput) as caught:
        check_shape(body, RuleCreation)

    (fault,) = caught.value.faults
    assert (fault.field, fault.allowed) == ("scopeType", "cluster, department, project, tenant")


def test_what_is_of_another_type_is_told_the_type_however_deep_it_stands():
    with pytest.raises(InvalidInput) as caught:
        check_shape([{"nodePool": {"id": "1"}, "memory": {"units": ["GB"]}}], list[ResourceGiven])

    assert caught.value.faults[0].field == "[0].memory.units"
    assert caught.value.faults[0].allowed == "GB, MB, Mib"
