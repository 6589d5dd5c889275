"""Cheap ways to break a server (performance-reliability-security.md, trap 9): each is a 400 at little cost."""

import gc
import json
import statistics
import time

import pytest

from tests.contracts.matrix import QUERIES
from tests.contracts.urlconf import PUBLIC, path_of, routes

DEEP = b"[" * 100_000
SURROGATE = b'{"name": "\\ud800", "email": "\\ud800", "grantType": "\\ud800"}'
NUL = b'{"name": "a\\u0000b", "email": "a\\u0000b", "grantType": "a\\u0000b"}'
NESTED = b'{"a":' * 2000 + b"1" + b"}" * 2000
BODIES = {
    "100,000 brackets": DEEP,
    "2,000 nested objects": NESTED,
    "half a surrogate pair": SURROGATE,
    "a NUL": NUL,
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "not a number": b'{"name": NaN}',
    "a number of 10,000 digits": b'{"name": ' + b"9" * 10_000 + b"}",
    "too large": b'{"name": "' + b"x" * (2 * 1024 * 1024) + b'"}',
}
TERMS = {
    "NUL": "%00",
    "a huge offset": "1" + "0" * 30,
    "half a surrogate pair": "%ED%A0%80",
    "an expression": "(a+)%2B%24",
    "very long": "x" * 5000,
}
CPU_RATIO = 50
CPU_FLOOR = 0.02  # seconds; below this the clock says nothing


def api_writes():
    return [route for route in routes() if route.is_api and route.name not in ("token-v2",)]


def timed(call):
    """The answer and its CPU seconds, without a collection of the garbage that thousands of other tests left."""
    gc.disable()
    try:
        began = time.process_time()
        answer = call()
        return answer, time.process_time() - began
    finally:
        gc.enable()


@pytest.fixture
def client(admin, client_of, settings):
    settings.API_REQUESTS_PER_MINUTE = 10**9
    client = client_of(admin)
    client.raise_request_exception = False
    return client


# Where a body is read by more than one parser, or by anybody: all of them. Elsewhere the parser is the same one.
READ_IN_FULL = {"token", "users", "projects", "workloads-v2"}


def test_hostile_bodies_are_refused_by_every_url_at_little_cost(cast, client):
    wrong, costs = {}, []
    for i, route in enumerate(api_writes()):
        path = path_of(route, cast)
        names = list(BODIES) if route.name in READ_IN_FULL else [list(BODIES)[i % len(BODIES)]]
        for name in names:
            answer, cost = timed(lambda path=path, name=name: post(client, path, BODIES[name]))
            costs.append(cost)
            # The body is not read, since none is needed.
            bodiless = route.name.endswith(("-secret", "-logout", "-password", "-enabled"))
            if answer.status_code not in ({400, 401, 404, 405, 413, 415, 501} | ({200} if bodiless else set())):
                wrong[route.name, name] = answer.status_code

    assert wrong == {}
    assert max(costs) <= CPU_RATIO * max(statistics.median(costs), CPU_FLOOR)


def post(client, path, body):
    return client.post(path, data=body, content_type="application/json")


def test_hostile_queries_are_refused_or_left_out_at_little_cost(cast, client):
    wrong, costs, values = {}, [], list(TERMS.values())
    for i, route in enumerate(routes()):
        if route.name in PUBLIC or route.kind:
            continue
        base = route.path() + QUERIES.get(route.name, "?")
        client.get(base)  # what a process makes once is no cost of the query
        names = ("search", "sortBy", "offset", "filterBy=name=@") if route.is_api else ("q", "filter", "sort")
        for k, name in enumerate(names):
            url = f"{base}&{name}{'' if name.endswith('@') else '='}{values[(i + k) % len(values)]}"
            answer, cost = timed(lambda url=url: client.get(url))
            costs.append(cost)
            if answer.status_code >= 500 and answer.status_code not in (501, 502):
                wrong[url[:80]] = answer.status_code

    assert wrong == {}
    assert max(costs) <= CPU_RATIO * max(statistics.median(costs), CPU_FLOOR)


def test_there_are_no_regular_expressions_from_outside(client):
    answer = client.get("/api/v1/users?filterBy=username=~^(a%2B)%2B$")

    assert (answer.status_code, answer.json()["faults"][0]["field"]) == (400, "filterBy")


def test_yaml_that_is_nested_without_end_is_refused(cast, client):
    for text in ("- " * 2000 + "a", "{a: " * 2000, "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"):
        answer, cost = timed(lambda text=text: client.post("/workloads/new", {"yaml": text, "source": text}))
        assert answer.status_code < 500
        assert cost < 2


def test_fields_that_nobody_asked_for_are_refused_by_every_write(cast, client):
    """Mass assignment (CWE-915): an unknown field is a 400 that names it, or the body is refused before."""
    taken = {}
    for route in api_writes():
        if route.name in PUBLIC or route.name.endswith(("-secret", "user-logout", "user-password")):
            continue
        for method in ("post", "put", "patch"):
            body = json.dumps({"isAdministrator": True})
            answer = getattr(client, method)(path_of(route, cast), data=body, content_type="application/json")
            if answer.status_code in (200, 201, 202, 204):
                taken[route.name, method] = answer.status_code

    assert taken == {}


def test_no_serializer_takes_every_field_of_a_model():
    import re
    from pathlib import Path

    root = Path(__file__).parents[2]
    packages = ("accounts", "clusters", "core", "metrics", "organizations", "topology", "workloads", "controlplane")
    sources = [path for package in packages for path in (root / package).rglob("*.py")]

    assert [
        str(p) for p in sources if re.search(r"fields\s*=\s*[\"']__all__|ModelSerializer|ModelForm\b", p.read_text())
    ] == []
