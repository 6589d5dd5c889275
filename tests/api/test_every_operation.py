"""Every operation that the URL configuration has works: a read of what is there succeeds; each write's dry run is
answered as the write and writes nothing, the write succeeds and is in the audit log, and a later GET shows its
effect; a stream begins with its object. An operation without its walk fails."""

import gzip
import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.test import AsyncClient

from accounts import tokens
from accounts.models import AuditEntry
from controlplane.api_list import served
from core.api import runai
from tests.api import walks_of_people, walks_of_resources
from tests.api.conftest import NODE_UID, POD_UID
from tests.api.test_waiting import run
from tests.api.tour import AUTHORIZATION, CREDENTIALS, ORG, V1, WRITES, Tour, operation_of
from workloads.models import Agreement, Prediction

SPAN = "start=2026-11-29T17:00:00Z&end=2026-11-29T19:00:00Z"
ALL_TIME = "start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z"
# What a read must be asked, by its path's beginning and end.
QUERIES = {
    (V1, "/telemetry"): "telemetryType=GPU_ALLOCATION",
    (f"{V1}/nodes", "/telemetry"): "telemetryType=TOTAL_GPUS",
    (V1, "/metrics"): f"metricType=GPU_UTILIZATION&{SPAN}",
    (ORG, "/metrics"): f"metricType=GPU_ALLOCATION&{SPAN}",
    (f"{V1}/audit", ""): ALL_TIME,
    (V1, "/fair-share/history"): "queue=runai-assistant",
    (V1, "/impact"): "cordon=gpu-a",
    (V1, "/wait"): "for=phase=Ready&timeout=0",
    (f"{V1}/clusters", "/wait"): "for=phase=Connected&timeout=0",
    (f"{V1}/workloads", "/wait"): "for=phase=Running&timeout=0",
}


def operations():
    """Each as Run:ai names it; Muster's own by its shape."""
    theirs = {(o.method, o.shape): str(o) for o in runai.operations()}
    return sorted(theirs.get(found, " ".join(found)) for found in served())


GETS = [operation for operation in operations() if operation.startswith("GET ")]
STREAMS = [operation for operation in GETS if operation.endswith("/watch")]
READS = [operation for operation in GETS if operation not in STREAMS]


class Rehearsal(Tour):
    """A walk that asks for a dry run right before each write of one operation, which must leave every row as it is."""

    operation = ""

    def ask(self, method, path, body=None, **headers):
        if operation_of(method, path) != self.operation or self.operation in WITHOUT_DRY_RUN | ASKING:
            return super().ask(method, path, body, **headers)
        before = every_row()
        dry = super().ask(method, f"{path}{'&' if '?' in path else '?'}dryRun=true", body, **headers)
        assert every_row() == before
        entries = AuditEntry.objects.count()
        real = super().ask(method, path, body, **headers)
        assert (AuditEntry.objects.count() > entries) is (self.operation not in QUESTIONS)
        assert dry.status_code in (real.status_code, 200), (dry.status_code, real.status_code, dry.content)
        told = dry.json() if dry.content else {}
        assert {told[key] for key in SECRETS & set(told)} <= {""}
        return real


SECRETS = {"clientSecret", "secret", "tempPassword"}
# They give a token, which is no write.
WITHOUT_DRY_RUN = {"POST /api/v1/token", "POST /api/v2/token"}
# Its dry run asks the cluster what it would change: tests/clusters/test_adopting.py.
ASKING = {"POST /api/v1/clusters/{}/adoptions"}
# They write nothing.
QUESTIONS = {"POST /api/v1/authorization/permitted-scopes", "POST /api/v1/workloads/preview"}


def every_row():
    """All that is stored: rows, audit, secrets, answers that are kept."""
    return {
        model._meta.label: sorted(repr([bytes(v) if isinstance(v, memoryview) else v for v in row]) for row in rows)
        for model in apps.get_models()
        for rows in [model._default_manager.values_list()]
    }


@pytest.fixture
def tour(api, world, gateway, settings):
    for row in (world.cluster, world.topology, world.pool, world.department, world.project, world.running):
        type(row).objects.filter(pk=row.pk).update(observed_generation=row.generation)  # as after its reconcile
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = "https://id.example.org", "muster"
    return Rehearsal(api, world)


def test_there_are_at_least_150_operations_of_run_ai():
    assert sum(str(o) in operations() for o in runai.operations()) >= 150


def test_each_write_has_its_walk_and_each_walk_its_write():
    writes = {o for o in operations() if not o.startswith("GET ")}
    assert writes == WRITES.keys()


@pytest.mark.parametrize("operation", sorted(WRITES))
def test_a_dry_run_writes_nothing_and_a_later_get_shows_the_effect_of_the_write(tour, operation):
    tour.operation = operation

    WRITES[operation](tour)

    written = [place for place, (name, status) in enumerate(tour.asked) if name == operation and status < 300]
    assert any(name.startswith("GET ") for name, _status in tour.asked[written[-1] + 1 :])


@pytest.mark.parametrize("operation", READS)
def test_a_read_of_what_is_there_succeeds(tour, operation):
    template = operation.removeprefix("GET ")
    fitting = [key for key in QUERIES if template.startswith(key[0]) and template.endswith(key[1])]
    query = QUERIES[max(fitting, key=lambda key: len("".join(key)))] if fitting else ""

    answer = tour.client.get(f"{filled(tour, template)}?{query}")

    assert answer.status_code in (200, 207), (answer.status_code, answer.content)
    assert answer.content


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("operation", STREAMS)
def test_a_stream_begins_with_the_object_as_its_get_shows_it(tour, admin, operation):
    path = filled(tour, operation.removeprefix("GET "))
    client, bearer = AsyncClient(), {"Authorization": f"Bearer {tokens.issue(admin).access}"}

    async def first():
        answer = await client.get(path, headers=bearer)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/event-stream")
        event = await anext(answer.streaming_content)
        await answer.streaming_content.aclose()
        await sync_to_async(answer.close)()
        return event.decode()

    told = run(first)
    assert told.startswith("data: ")
    assert told.endswith("\n\n")
    assert json.loads(told.removeprefix("data: ")) == tour("GET", path.removesuffix("/watch"))


def filled(tour, template):
    """The path with ids of what is there."""
    kind = next((kind for kind in walks_of_resources.SPECS if template.startswith(f"{CREDENTIALS}/{kind}/")), None)
    if kind:
        return walks_of_resources.new_credential(tour, kind)
    for root in (*walks_of_people.SERVICE_ACCOUNTS, *walks_of_people.KEYS):
        if template.startswith(f"{root}/"):
            return f"{root}/{tour('POST', root, {'name': 'robot'})['id']}"
    return re.sub(r"([^/]+)/\{[^}]*\}", lambda match: f"{match[1]}/{an_id(tour, match[1])}", template)


def an_id(tour, collection):
    """The id of something in a collection."""
    world = tour.world
    if collection == "predictions":
        return wrong_prediction(world).pk
    if collection in IDS:
        return IDS[collection](world)
    makers = {
        "reports": lambda: tour("POST", f"{ORG}/reports", walks_of_resources.REPORT),
        "access-rules": lambda: tour("POST", walks_of_people.RULES, walks_of_people.rule_of("readers")),
        "workload-categories": lambda: tour.listed(f"{V1}/workload-categories")[0],
        "workload-types": lambda: tour.listed(f"{V1}/workload-types")[0],
        "users": lambda: tour.listed(f"{V1}/users")[0],
        "roles": lambda: tour.listed(f"{AUTHORIZATION}/roles")[0],
    }
    return makers[collection]()["id"]


def wrong_prediction(world):
    """One whose case is kept."""
    return Prediction.objects.create(
        cluster=world.cluster, workload=world.running, project=world.project, workload_name="qwen", generation=1,
        node_pool="default", engine_version="1", predicted_at=world.now, decided_at=world.now, pods=2, pods_expected=2,
        pods_placed=0, outcome=Agreement.WRONG, case=gzip.compress(b"{}\n"), case_state="kept",
    )  # fmt: skip


IDS = {
    "clusters": lambda world: world.cluster.pk,
    "nodepools": lambda world: world.pool.name,
    "node-pools": lambda world: world.pool.pk,
    "network-topologies": lambda world: world.topology.pk,
    "nodes": lambda world: NODE_UID,
    "departments": lambda world: world.department.pk,
    "projects": lambda world: world.project.pk,
    "workloads": lambda world: world.running.pk,
    "pods": lambda world: POD_UID,
    "setting": lambda world: "api.require-if-match",
    "idps": lambda world: "oidc",
    "settings": lambda world: "browserSessionTimeout",
}
