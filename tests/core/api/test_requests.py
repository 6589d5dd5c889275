"""What the API does with bodies, pages, filters and orders: every refusal is a 400 that names the field."""

import contextlib
import json

import pytest
from django.http import HttpRequest, QueryDict
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from core.api.errors import exception_handler, faults_of
from core.api.filters import filter_by, search, sort, terms_of
from core.api.pagination import paginate, slice_of
from core.api.parsers import MAX_DEPTH, read_json
from core.errors import Conflict, Fault, InvalidInput, NotFound, NotPermitted, Stale
from core.filters import Filter
from topology.models import NodePool

FILTERS = (
    Filter(key="name", label="Name"),
    Filter(key="gpus", label="GPUs", lookup="id", kind="number"),
    Filter(key="createdAt", label="Created", lookup="created_at", kind="time"),
    Filter(key="phase", label="Phase", kind="choice", choices=(("Ready", "Ready"), ("Empty", "Empty"))),
)


def asked(query=""):
    request = HttpRequest()
    request.GET = QueryDict(query)
    return Request(request)


def fault(call, *args, **more):
    with pytest.raises(InvalidInput) as caught:
        call(*args, **more)
    return caught.value.faults[0]


@pytest.fixture
def pools(cluster):
    return [NodePool.objects.create(cluster=cluster, name=f"pool-{i}", label_value=str(i)) for i in range(5)]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 100_000, "nested deeper"),
        (b'{"a": ' * 70 + b"1" + b"}" * 70, "nested deeper"),
        (b'{"name": "a", "name": "b"}', 'The key "name" stands twice'),
        (b'[{"a": {"x": 1, "y": 2, "x": 1}}]', 'The key "x" stands twice'),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "not a number"),
        (b"\xff", "not JSON"),
        (b"", "not JSON"),
        (b'{"a": 1', "not JSON"),
    ],
)
def test_bodies_that_would_break_something_are_refused_with_the_reason(body, why):
    with pytest.raises(ParseError, match=why):
        read_json(body)


@pytest.mark.parametrize(
    ("body", "field", "why"),
    [
        ('{"a": "x\\u0000y"}', "a", "NUL"),
        ('{"metadata": {"names": ["x", {"b": "\\u0000"}]}}', "metadata.names[1].b", "NUL"),
        ('["\\u0000"]', "[0]", "NUL"),
        ('{"b": {"a\\u0000": 1}}', "b.a\\x00", "NUL"),
        ('{"a": [{"b": "\\ud800"}]}', "a[0].b", "surrogate"),
        ('{"\\udfff": 1}', "\\udfff", "surrogate"),
        ('{"quota": {"gpus": ' + "9" * 4301 + "}}", "quota.gpus", "The number is too large"),
        ('{"quota": {"gpus": -' + "9" * 4301 + "}}", "quota.gpus", "The number is too large"),
        ('{"quota": [1, 1e400]}', "quota[1]", "The number is too large"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_by_its_field(body, field, why):
    found = fault(read_json, body.encode())
    assert (found.field, why in found.message, bool(found.allowed)) == (field, True, True)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/nodes", "nodeName"),
        ("/api/v1/nodes", "filterBy"),
        ("/api/v1/org-unit/projects", "search"),
        ("/api/v1/authorization/access-rules", "subjectIds"),
        ("/api/v1/clusters", "verbosity"),
    ],
)
def test_a_query_that_cannot_be_kept_is_refused_by_its_parameter(admin, client_of, cluster, path, name):
    answer = client_of(admin).get(path, {name: "a\x00b"})
    found = answer.json()["faults"][0]
    assert (answer.status_code, found["field"], "NUL" in found["message"]) == (400, name, True)


def test_the_deepest_allowed_document_is_read():
    body = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert json.dumps(read_json(body)).count("[") == MAX_DEPTH


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_what_is_read_can_be_stored_and_written_again(value):
    body = json.dumps(value).encode()
    try:
        read = read_json(body)
    except InvalidInput:
        assert "\\u0000" in json.dumps(value) or "\\ud" in json.dumps(value)
        return
    assert read == value
    json.dumps(read, ensure_ascii=False).encode()


@given(st.binary(max_size=300))
def test_no_body_makes_the_parser_fail_otherwise(body):
    with contextlib.suppress(ParseError, InvalidInput):
        read_json(body)


@pytest.mark.parametrize(
    ("query", "field", "allowed"),
    [
        ("limit=0", "limit", "1 to 500"),
        ("limit=501", "limit", "1 to 500"),
        ("limit=-1", "limit", "1 to 500"),
        ("limit=1e3", "limit", "1 to 500"),
        ("limit=%D9%A5", "limit", "1 to 500"),  # an Arabic digit
        (f"offset={10**30}", "offset", "0 to 1000000000"),
        ("offset=x", "offset", "0 to 1000000000"),
    ],
)
def test_wrong_pages_name_the_field_and_its_range(query, field, allowed):
    found = fault(slice_of, asked(query))
    assert (found.field, found.allowed) == (field, allowed)


def test_both_wrong_fields_are_named():
    with pytest.raises(InvalidInput) as caught:
        slice_of(asked("limit=x&offset=y"))
    assert [f.field for f in caught.value.faults] == ["limit", "offset"]


def test_pages_follow_each_other_to_the_end_in_one_query_each(pools, django_assert_num_queries):
    names, offset = [], 0
    while offset is not None:
        with django_assert_num_queries(1):
            rows, offset = paginate(asked(f"limit=2&offset={offset}"), NodePool.objects.order_by("pk"))
        names += [row.name for row in rows]

    assert names == ["pool-0", "pool-1", "pool-2", "pool-3", "pool-4"]


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ("name==pool-1", ["pool-1"]),
        ("name!=pool-1", ["pool-0", "pool-2", "pool-3", "pool-4"]),
        ("name=@ol-3", ["pool-3"]),
        ("name!@ol-3", ["pool-0", "pool-1", "pool-2", "pool-4"]),
        ("name=^POOL-4", ["pool-4"]),
        ("name=$-0", ["pool-0"]),
        ("name=@pool,name!=pool-0,name!=pool-1", ["pool-2", "pool-3", "pool-4"]),
        ("createdAt<=2021-01-01T00:00:00Z", []),
        ("phase==Ready", []),
    ],
)
def test_filter_terms_are_anded(pools, terms, names):
    request = asked()
    request._request.GET = QueryDict(mutable=True)
    request._request.GET["filterBy"] = terms
    found = filter_by(request, NodePool.objects.order_by("name"), FILTERS)
    assert [pool.name for pool in found] == names


@pytest.mark.parametrize(
    ("term", "field", "allowed"),
    [
        ("name", "filterBy", "field, one of"),
        ("cluster__name==x", "filterBy", "createdAt, gpus, name, phase"),
        ("gpus=@1", "filterBy.gpus", ">= <= == !="),
        ("gpus==1_0", "filterBy.gpus", "a decimal number"),
        ("gpus==NaN", "filterBy.gpus", "a decimal number"),
        ("createdAt>=yesterday", "filterBy.createdAt", "2026-11-29T14:00:00Z"),
        ("createdAt>=2021-13-45", "filterBy.createdAt", "2026-11-29T14:00:00Z"),
        ("createdAt>=0001-01-01T00:00:00%2B14:00", "filterBy.createdAt", "2026-11-29T14:00:00Z"),
        ("createdAt<=9999-12-31T23:59:59-14:00", "filterBy.createdAt", "2026-11-29T14:00:00Z"),
        ("phase==Gone", "filterBy.phase", "Ready, Empty"),
        ("name==a%00b", "filterBy.name", "up to 200 characters"),
    ],
)
def test_wrong_terms_name_the_term_and_what_is_allowed(term, field, allowed):
    found = fault(terms_of, asked(f"filterBy={term}"), FILTERS)
    assert found.field == field
    assert found.allowed.startswith(allowed)


@given(st.text(st.characters(exclude_characters="&#;+%,"), max_size=60))
def test_any_filter_text_is_a_term_or_a_named_fault(text):
    request = asked()
    request._request.GET = QueryDict(mutable=True)
    request._request.GET["filterBy"] = text
    with contextlib.suppress(InvalidInput):
        for term in terms_of(request, FILTERS):
            str(NodePool.objects.filter(term.q).query)


def test_sorting_is_by_a_field_both_ways(pools):
    fields = {"name": "name", "createdAt": "created_at"}

    def names(query):
        return [p.name for p in sort(asked(query), NodePool.objects.all(), fields, default="name")]

    assert names("")[0] == "pool-0"
    assert names("sortBy=name&sortOrder=desc")[0] == "pool-4"


def test_search_wants_every_word(pools):
    assert [p.name for p in search(asked("search=pool 3"), NodePool.objects.all(), ("name",))] == ["pool-3"]
    assert fault(search, asked("search=%00"), NodePool.objects.all(), ("name",)).field == "search"


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (
            InvalidInput([Fault("levels[1]", "is empty", "a label key"), Fault("name", "is taken")]),
            400,
            {
                "code": 400,
                "message": "levels[1]: is empty; name: is taken",
                "reason": "InvalidInput",
                "details": "levels[1]: is empty (allowed: a label key); name: is taken",
                "faults": [
                    {"field": "levels[1]", "message": "is empty", "allowed": "a label key"},
                    {"field": "name", "message": "is taken", "allowed": ""},
                ],
            },
        ),
        (
            NotPermitted("nodepools:create"),
            403,
            {"code": 403, "message": "You do not have the right nodepools:create.", "reason": "NotPermitted"},
        ),
        (
            NotFound("Resource id not found."),
            404,
            {"code": 404, "message": "Resource id not found.", "reason": "NotFound"},
        ),
        (Conflict("The name is taken."), 409, {"code": 409, "message": "The name is taken.", "reason": "Conflict"}),
        (Stale("Changed."), 412, {"code": 412, "message": "Changed.", "reason": "PreconditionFailed"}),
    ],
)
def test_every_error_has_the_one_shape(error, status, body):
    answer = exception_handler(error, {})
    assert (answer.status_code, answer.data) == (status, body)


def test_nested_serializer_errors_become_dotted_paths():
    detail = {
        "levels": [{}, {"label": ["This field is required."]}],
        "name": ["Too long."],
        "non_field_errors": ["No."],
    }

    assert [(f.field, f.message) for f in faults_of(detail)] == [
        ("levels[1].label", "This field is required."),
        ("name", "Too long."),
        ("", "No."),
    ]


def test_programming_errors_are_left_to_django():
    assert exception_handler(KeyError("x"), {}) is None
