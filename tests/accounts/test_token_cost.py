"""What it costs to know who asks, and what a process keeps of it."""

import sys
import threading

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import tokens
from tests.conftest import make_user


def test_authentication_by_token_adds_at_most_one_query_to_a_request(viewer, project):
    """Of a whole request, and none while what is known of the token is fresh; the rules are the authorisation's."""
    client = Client(headers={"Authorization": f"Bearer {tokens.issue(viewer).access}"})
    tokens.forget(viewer.pk)

    with CaptureQueriesContext(connection) as first:
        assert client.get("/api/v1/org-unit/projects").status_code == 200
    with CaptureQueriesContext(connection) as second:
        assert client.get("/api/v1/org-unit/projects").status_code == 200

    who = [query["sql"] for query in first if "accounts_user" in query["sql"] or "accounts_accesskey" in query["sql"]]
    assert len(who) <= 1
    assert len(first) - len(second) == 1
    assert not any("django_session" in query["sql"] for query in (*first, *second))


def test_what_is_forgotten_in_one_thread_may_be_learnt_in_another(db):
    """The memory is changed by other threads while it is searched: that raises nothing."""
    person = make_user("lin")
    ended = threading.Event()

    def learn():
        number = 0
        while not ended.is_set():
            tokens._known[str(number), None] = (0.0, person, None)
            tokens._known.pop((str(number - 2000), None), None)
            number += 1

    learner, interval = threading.Thread(target=learn), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    learner.start()
    try:
        for _ in range(300):
            tokens.forget(person.pk)
    finally:
        ended.set()
        learner.join()
        sys.setswitchinterval(interval)
        tokens._known.clear()
