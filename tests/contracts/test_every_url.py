"""Contracts that hold for every URL, generated from the URLconf: a new URL is covered when it is added."""

import json
import re
import uuid
from collections import Counter

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from accounts.models import AuditEntry
from controlplane.live_views import _may_hear
from core.models import DesiredState
from tests.contracts.matrix import BODIES, QUERIES
from tests.contracts.urlconf import COLLECTIONS, PUBLIC, pk_of, routes, with_ids

WRITES = ("post", "put", "patch", "delete")
MALFORMED = ("0", "9" * 30, "x", "-1", "١", "..", "%00", "a%2Fb", str(uuid.UUID(int=0)))


def send(client, method, route, pk=""):
    body = BODIES.get(route.name, {})
    if method == "get":
        return client.get(route.path(pk) + QUERIES.get(route.name, ""))
    if not route.is_api:
        return client.post(route.path(pk), body)
    return getattr(client, method)(route.path(pk), data=json.dumps(body), content_type="application/json")


def is_error(answer):
    """The one error shape, with the status repeated."""
    body = answer.json()
    return body["code"] == answer.status_code and isinstance(body["message"], str) and body["message"] != ""


def everything():
    """What is stored of desired state, and how much of everything else."""
    rows = Counter()
    for model in apps.get_models():
        if issubclass(model, DesiredState):
            for pk, generation, phase in model._default_manager.values_list("pk", "generation", "phase"):
                rows[model._meta.label, str(pk), generation, phase] += 1
        elif model._meta.label not in ("sessions.Session", "accounts.AuditEntry"):
            rows[model._meta.label] = model._default_manager.count()
    return rows


def test_anonymous_people_see_nothing(db):
    wrong = {}
    for route in protected():
        for method in ("get", *(WRITES if route.is_api else ("post",))):
            answer = send(Client(), method, route, "1")
            challenge = answer.headers.get("WWW-Authenticate")
            if route.is_api and (answer.status_code, challenge) == (401, 'Bearer realm="muster"') and is_error(answer):
                continue
            if answer.status_code == 302 and answer.headers["Location"].startswith("/account/login?next="):
                continue
            wrong[route.name, method] = answer.status_code

    assert wrong == {}


def test_outsiders_are_told_that_there_is_nothing(cast, outsider, client_of):
    client, before, wrong = client_of(outsider), everything(), {}
    for route in with_ids():
        if route.kind and route.kind not in COLLECTIONS:
            continue
        pk = pk_of(route, cast)
        for method in ("get", "post", *(WRITES[1:] if route.is_api else ())):
            answer, absent = send(client, method, route, pk), send(client, method, route, absent_like(pk))
            same = answer.status_code == absent.status_code
            if route.is_api and same:
                same = answer.json() == absent.json()
            if answer.status_code not in (404, 405) or not same:
                wrong[route.name, method] = (answer.status_code, absent.status_code)

    assert wrong == {}
    assert everything() == before


@pytest.mark.long
def test_malformed_ids_are_absent_ids(cast, admin, client_of):
    client, wrong = client_of(admin), {}
    for route in with_ids():
        for pk in MALFORMED:
            answer = send(client, "get", route, pk)
            if answer.status_code not in (404, 405):
                wrong[route.name, pk] = answer.status_code

    assert wrong == {}


def test_viewers_write_nothing(cast, viewer, client_of):
    # An empty body may be refused for being empty before the right is asked for.
    refused = {400, 403, 405, 422, 501}
    client, before, wrong = client_of(viewer), everything(), {}
    for route in protected():
        for method in WRITES if route.is_api else ("post",):
            answer = send(client, method, route, pk_of(route, cast))
            own = ("access-keys", "user-applications", "credentials")
            hidden = route.pattern.count("<") > 1 or route.kind in own or (route.kind and route.kind not in COLLECTIONS)
            expected = refused | ({404} if hidden else set())
            if answer.status_code not in expected or (route.is_api and not is_error(answer)):
                wrong[route.name, method] = answer.status_code

    assert wrong == {}
    assert everything() == before
    assert not AuditEntry.objects.filter(outcome="Succeeded").exists()


def test_reading_changes_nothing_fails_nowhere_and_is_kept_from_foreign_script_and_caches(cast, admin, client_of):
    client, wrong, exposed, deaf = client_of(admin), {}, {}, {}
    written = []

    def trap(execute, sql, params, many, context):
        if sql.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE")):
            written.append(sql)
        return execute(sql, params, many, context)

    for route in protected():
        with connection.execute_wrapper(trap):
            answer = send(client, "get", route, pk_of(route, cast))
            if answer.streaming:
                b"".join(answer.streaming_content)
        # A credential has one kind, and is absent from the paths of the others.
        open_ended = route.pattern.count("<") > 1 or (route.kind and route.kind not in COLLECTIONS - {"credentials"})
        open_ended = open_ended or route.name == "workloads:bulk"  # what stands there is the name of an act, no id
        # 400: a list that must be asked something.
        expected = {200, 302, 405} | ({404} if open_ended else set()) | ({207, 400, 501} if route.is_api else set())
        if written or answer.status_code not in expected:
            wrong[route.name] = (answer.status_code, written)
            written = []
        if not route.is_api and not is_guarded(answer):
            exposed[route.name] = dict(answer.headers)
        if unheard := [topic for topic in topics_of(answer) if not _may_hear(admin, topic)]:
            deaf[route.name] = unheard

    assert wrong == {}
    assert exposed == {}
    assert deaf == {}


def topics_of(answer):
    """The live topics that a page asks to be told of."""
    content = "" if answer.streaming else answer.content.decode(errors="replace")
    return {topic for topics in re.findall(r'data-live="([^"]+)"', content) for topic in topics.split()}


def is_guarded(page):
    """Its policy stops foreign script, and it stays in no cache."""
    policy, caching = page.headers["Content-Security-Policy"], page.headers["Cache-Control"]
    strict = "script-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    return strict and ("no-store" in caching or "max-age=0" in caching)


def test_writes_from_other_sites_are_refused(cast, admin):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    before, wrong = everything(), {}
    for route in routes():
        if route.name in ("token", "token-v2"):  # they take no cookie
            continue
        answer = send(client, "post", route, pk_of(route, cast))
        if answer.status_code not in (403, 405):
            wrong[route.name] = answer.status_code

    assert wrong == {}
    assert everything() == before
    assert not AuditEntry.objects.filter(outcome="Succeeded").exists()


def protected():
    return [route for route in routes() if route.name not in PUBLIC]


def absent_like(pk):
    return uuid.uuid4() if isinstance(pk, uuid.UUID) else 987654321
