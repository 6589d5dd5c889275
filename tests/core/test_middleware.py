"""What every answer carries: a request id, no caching; and how Muster's errors look on pages and in the API."""

import sqlite3
import sys
from contextlib import closing, contextmanager, suppress

import pytest
import structlog
from django.db import OperationalError, connection, transaction
from django.test import Client
from structlog._output import WRITE_LOCKS


@pytest.mark.parametrize("given", ["a b", "x" * 65, "<script>", "é", "a\tb"])
def test_a_request_id_that_could_harm_a_log_is_replaced(db, given):
    answer = Client().get("/healthz", headers={"X-Request-ID": given})

    assert answer.headers["X-Request-ID"] != given
    assert len(answer.headers["X-Request-ID"]) == 32


def test_nothing_is_kept_in_shared_caches(admin, client_of):
    answer = client_of(admin).get("/")

    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_an_unknown_page_and_an_unknown_path_of_the_api_are_not_found_in_their_own_shapes(admin, client_of):
    client = client_of(admin)
    page, api = client.get("/nope"), client.get("/api/v1/nope")

    assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert api.json() == {"code": 404, "message": "There is no such path in the API."}


TOO_MANY = "?" + "&".join(f"x{i}=1" for i in range(1001))


@pytest.mark.parametrize("path", ["/clusters/", "/nope", "/projects/0/", "/account/login", "/live", "/healthz"])
def test_a_query_of_too_many_parameters_is_a_page_that_says_so(admin, client_of, path):
    answer = client_of(admin).get(path + TOO_MANY)

    assert answer.status_code == 400
    assert "The request cannot be read" in answer.content.decode()


@pytest.mark.parametrize(("path", "status"), [("/nope", 404), ("/departments/new/", 400), ("/departments/0/", 400)])
@pytest.mark.parametrize("body", ["multipart/form-data", "multipart/form-data; boundary=é"])
def test_a_form_that_cannot_be_read_is_a_page_that_says_so(admin, cluster, path, status, body):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    token = client.get("/departments/new/").context["csrf_token"]

    answer = client.generic("POST", path, b"name=x", content_type=body, headers={"X-CSRFToken": str(token)})

    assert answer.status_code == status


def test_what_the_api_cannot_read_is_answered_in_the_one_shape(admin, client_of):
    client = client_of(admin)

    for answer in (client.get("/api/v1/nodes" + TOO_MANY), client.get("/api/v1/nodes", headers={"Host": "other"})):
        assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (400, 400, "Bad request")


@pytest.mark.parametrize(
    ("path", "broken"),
    [("/api/v1/nodes", "clusters.api.views.sort"), ("/v1/k8s/setting", "controlplane.api_settings.is_on")],
)
def test_a_programming_error_in_the_api_is_answered_in_the_one_shape(admin, client_of, monkeypatch, path, broken):
    def breaks(*args, **kwargs):
        raise KeyError("secret detail")

    monkeypatch.setattr(broken, breaks)
    client = client_of(admin)
    client.raise_request_exception = False

    answer = client.get(path)

    assert answer.status_code == 500
    assert answer.json() == {"code": 500, "message": "Something went wrong."}


def test_a_method_that_is_not_offered_and_a_wrong_media_type_are_said(admin, client_of):
    client = client_of(admin)

    put = client.put("/api/v1/node-pools", {}, content_type="application/json")
    form = client.post("/api/v1/node-pools", "a=b", content_type="application/x-www-form-urlencoded")

    assert (put.status_code, put.json()["code"]) == (405, 405)
    assert (form.status_code, form.json()["message"]) == (415, "Unsupported media type: send application/json")


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b"", b"[1]", b'"x"'])
def test_bodies_that_break_others_are_a_400(admin, client_of, cluster, body):
    answer = client_of(admin).post("/api/v1/node-pools", body, content_type="application/json")

    assert (answer.status_code, answer.json()["code"]) == (400, 400)


@pytest.mark.parametrize(
    "query", ["offset=1e9", f"offset={10**30}", "limit=0", "filterBy=name==%00", "filterBy=(", "sortBy=pk"]
)
def test_queries_that_break_others_are_a_400(admin, client_of, query):
    answer = client_of(admin).get(f"/api/v1/node-pools?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert answer.json()["faults"][0]["field"]


def test_a_form_of_another_session_is_answered_by_a_page_of_ours(admin):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)

    answer = client.post("/departments/new/", {"name": "x", "csrfmiddlewaretoken": "a" * 64})

    assert answer.status_code == 403
    assert "The page is out of date" in answer.content.decode()
    assert "<style" not in answer.content.decode()


@pytest.mark.parametrize("fields", [{"name": "x" * 2**21}, {f"f{i}": "1" for i in range(1001)}])
def test_a_form_that_is_too_large_is_answered_by_a_page_of_ours(admin, client_of, fields):
    body = "&".join(f"{name}={value}" for name, value in fields.items())

    answer = client_of(admin).post("/departments/new/", body, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 400
    assert "The request cannot be read" in answer.content.decode()


@contextmanager
def read_only():
    """Within it the database takes no write, as with a full disk or after a failover."""
    sqlite = connection.vendor == "sqlite"
    on, off = ("PRAGMA query_only = ON", "PRAGMA query_only = OFF")
    if not sqlite:
        on = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
        off = "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"
    with connection.cursor() as cursor:
        cursor.execute(on)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(off)


@pytest.mark.django_db(transaction=True)
def test_a_write_that_the_database_refuses_is_503_with_what_became_of_it(admin, client_of):
    client = client_of(admin)
    client.raise_request_exception = False
    with read_only():
        api = client.post("/api/v1/service-accounts", '{"name": "robot"}', content_type="application/json")
        token = client.post(
            "/api/v1/token",
            '{"grantType": "app_token", "AppId": "a", "AppSecret": "b"}',
            content_type="application/json",
        )
        page = client.post("/access/service-accounts/new", {"name": "robot"})

    for answer in (api, token):
        told = answer.json()
        assert (answer.status_code, told["code"], told["reason"]) == (503, 503, "DatabaseFailed")
        assert "Nothing was changed" in told["message"]
    assert page.status_code == 503
    assert "Nothing was changed" in page.content.decode()


# More than a value may hold, and nested deeper than the stack is: SQLSTATE 54000 and 54001.
BEYOND_LIMITS = ["SELECT repeat('x', 1100000000)", "SELECT " + "+".join(["1"] * 200_000)]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="only on PostgreSQL")
@pytest.mark.parametrize(("statement", "sqlstate"), [*zip(BEYOND_LIMITS, ["54000", "54001"], strict=True)])
def test_a_statement_beyond_its_bounds_fails_as_if_the_database_did(db, statement, sqlstate):
    """What the next test is about: the driver calls it an OperationalError, as it does a server that is away."""
    with pytest.raises(OperationalError) as failed, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)

    assert failed.value.__cause__.sqlstate == sqlstate


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM no_such_table",
        "SELECT no_such_column FROM clusters_cluster",
        "SELECT FROM WHERE",
        *(BEYOND_LIMITS if connection.vendor == "postgresql" else ()),
    ],
)
def test_a_wrong_statement_is_an_error_of_ours_and_not_the_databases(admin, client_of, monkeypatch, statement):
    """A missing table or column stays missing: nobody is told to try again in a few minutes."""

    def breaks(*args, **kwargs):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    monkeypatch.setattr("clusters.api.views.sort", breaks)
    client = client_of(admin)
    client.raise_request_exception = False

    answer = client.get("/api/v1/nodes")

    assert (answer.status_code, answer.json()) == (500, {"code": 500, "message": "Something went wrong."})


def locked(path):
    """A query of a database that another connection has locked."""
    with closing(sqlite3.connect(path)) as other, closing(sqlite3.connect(path, timeout=0)) as ours:
        other.execute("BEGIN EXCLUSIVE")
        ours.execute("SELECT 1 FROM sqlite_master")


def not_there(path):
    """A database whose folder is not there."""
    with closing(sqlite3.connect(path / "of_a_file")):
        pass


@pytest.mark.parametrize("ask", [locked, not_there])
def test_a_database_that_is_locked_or_away_is_503(admin, client_of, monkeypatch, tmp_path, ask):
    def breaks(*args, **kwargs):
        try:
            ask(tmp_path / "file")
        except sqlite3.OperationalError as error:
            raise OperationalError(*error.args) from error

    monkeypatch.setattr("clusters.api.views.sort", breaks)

    answer = client_of(admin).get("/api/v1/nodes")

    assert (answer.status_code, answer.json()["reason"]) == (503, "DatabaseFailed")


def test_a_log_that_cannot_be_written_fails_nobody(monkeypatch):
    with open("/dev/full", "w", buffering=1, encoding="utf-8") as full:  # noqa: PTH123 (a device)
        monkeypatch.setattr(sys, "stderr", full)
        structlog.get_logger("full").warning("nobody will read this")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


def test_what_was_logged_leaves_nothing_in_memory():
    structlog.get_logger("talkative").warning("once")
    kept = len(WRITE_LOCKS)

    for _ in range(5):
        structlog.get_logger("talkative").warning("again")

    assert len(WRITE_LOCKS) == kept
