"""A statement of a web process that takes longer than it may is given up, and the answer says so in words."""

import psycopg
import pytest
from django.db import connection

from core.database import bound_statements

SECONDS = 0.3


@pytest.fixture
def _bounded():
    """The connections of this process as those of a web process."""
    kept = connection.settings_dict["OPTIONS"]
    connection.close()
    bound_statements(connection.settings_dict, SECONDS)
    yield
    connection.settings_dict["OPTIONS"] = kept
    connection.close()


@pytest.fixture
def locked():
    """Somebody else holds a lock on the table of clusters and does not let go."""
    place = connection.settings_dict
    names = {"dbname": place["NAME"], "user": place["USER"], "password": place["PASSWORD"], "host": place["HOST"]}
    with psycopg.connect(**names, port=place["PORT"] or None) as other:
        other.execute("LOCK TABLE clusters_cluster IN ACCESS EXCLUSIVE MODE")
        yield other


@pytest.mark.skipif(connection.vendor == "sqlite", reason="only on PostgreSQL")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_bounded")
def test_a_request_behind_a_lock_that_is_held_is_503_with_words_and_later_answered(admin, client_of, locked):
    client = client_of(admin)
    client.raise_request_exception = False

    answers = [client.get("/api/v1/clusters"), client.get("/clusters/")]
    locked.rollback()
    later = client.get("/api/v1/clusters")

    told = answers[0].json()
    assert (answers[0].status_code, told["code"], told["reason"]) == (503, 503, "DatabaseTooSlow")
    assert "took too long" in told["message"]
    assert answers[1].status_code == 503
    assert "took too long" in answers[1].content.decode()
    assert later.status_code == 200


@pytest.mark.parametrize(
    ("engine", "seconds", "options"),
    [
        ("django.db.backends.postgresql", 30, {"options": "-c statement_timeout=30000"}),
        ("django.db.backends.postgresql", 0, None),
        ("django.db.backends.sqlite3", 30, None),
    ],
)
def test_only_postgresql_is_bounded_and_only_where_a_time_is_set(engine, seconds, options):
    database = {"ENGINE": engine}
    bound_statements(database, seconds)
    assert database.get("OPTIONS") == options


def test_the_bound_is_added_to_what_the_address_of_the_database_says():
    given = {"sslmode": "require", "options": "-c statement_timeout=5s"}
    database = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": given}
    bound_statements(database, 30)
    assert database["OPTIONS"] == {**given, "options": "-c statement_timeout=30000 -c statement_timeout=5s"}
