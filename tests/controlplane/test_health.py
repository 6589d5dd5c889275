"""Health by part: what is missing is named, with its age, and a watcher's absence leaves the rest ready."""

import os
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import tokens
from clusters.models import Cluster
from controlplane import health, heartbeats
from controlplane.models import Heartbeat
from simulator.api.bootstrap import bootstrap
from tests.clusters.conftest import serving


def beat(kind, age=timedelta(0)):
    Heartbeat.objects.create(process=f"{kind}/host", kind=kind, at=timezone.now() - age)


def parts(answer):
    return {part["name"]: part for part in answer.json()["parts"]}


def test_healthz_answers_anybody_without_a_database(client):
    answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_readyz_names_every_part_and_why_it_is_not_ready(admin, client_of):
    answer = client_of(admin).get("/readyz")

    assert answer.status_code == 503
    found = parts(answer)
    assert list(found) == ["database", "broker", "worker", "beat"]
    assert found["database"]["healthy"] is True
    assert found["broker"]["message"] == "The broker does not answer. Work goes on, later than usual."
    assert found["worker"] == {
        "name": "worker",
        "healthy": False,
        "required": True,
        "ageSeconds": None,
        "message": "No worker has run yet.",
    }


def test_readyz_is_ok_while_a_clusters_watcher_is_down(cluster, broker_url, admin, client_of):
    beat("worker")
    beat("beat")

    answer = client_of(admin).get("/readyz")

    assert answer.status_code == 200
    watcher = parts(answer)["watcher of cluster-a"]
    assert (watcher["healthy"], watcher["required"]) == (False, False)
    assert watcher["message"] == "Nobody watches the cluster."


def test_a_start_waits_for_its_own_cluster_and_for_no_other(cluster, broker_url):
    """`up` comes up beside a registered cluster that is down, or that grants too little."""
    for kind in ("worker", "beat"):
        beat(kind)
    Cluster.objects.filter(pk=cluster.pk).update(
        watcher_until=timezone.now() + timedelta(minutes=1),
        streams={"pods": {"error": "It cannot be reached"}},
        conditions=[{"type": "Permitted", "status": "False", "message": "pods: watch is missing"}],
    )

    assert health.lacking("another") == ""
    assert health.lacking(cluster.name) == (
        f"watcher of {cluster.name}: pods: It cannot be reached rights in {cluster.name}: pods: watch is missing"
    )


def test_a_worker_that_stopped_is_named_with_the_time_of_its_last_sign(db, broker_url):
    beat("worker", timedelta(minutes=5))
    beat("beat")

    found = {part.name: part for part in health.parts()}

    assert not found["worker"].healthy
    assert found["worker"].message.startswith("No worker has given a sign since 20")
    assert timedelta(minutes=5) <= found["worker"].age < timedelta(minutes=6)


def test_a_clock_that_runs_ahead_gives_no_negative_age(db, broker_url):
    beat("worker", -timedelta(minutes=10))

    worker = next(part for part in health.parts() if part.name == "worker")

    assert worker.age == timedelta(0)


def test_signing_is_cheap_when_it_is_called_often(db, django_assert_num_queries):
    heartbeats._signed.clear()
    heartbeats.sign("worker", "a")
    with django_assert_num_queries(0):
        for _ in range(100):
            heartbeats.sign("worker", "a")

    assert Heartbeat.objects.get().process == "worker/a"


def test_metrics_hold_parts_and_counts_and_no_names_of_objects(cluster, default_pool, admin, client_of):
    text = client_of(admin).get("/metrics").content.decode()

    assert 'muster_part_up{part="database"} 1.0' in text
    assert 'muster_rows_due{kind="topology.NodePool"} 1.0' in text
    assert "assistant" not in text


@pytest.mark.parametrize("path", ["/readyz", "/metrics"])
def test_details_are_for_administrators_and_monitoring_alone(path, cluster, admin, viewer, client_of, settings):
    settings.MONITORING_TOKEN = "a token for monitoring"

    def told(client, token=""):
        answer = client.get(path, headers={"Authorization": f"Bearer {token}"} if token else {})
        return "cluster-a" in answer.content.decode()

    assert told(client_of(admin))
    assert told(Client(), "a token for monitoring")
    assert told(Client(), tokens.issue(admin).access)
    for client, token in (
        (Client(), ""),
        (Client(), "another token"),
        (client_of(viewer), ""),
        (Client(), tokens.issue(viewer).access),
        (client_of(admin), "x"),
    ):
        assert not told(client, token)


def test_without_a_token_for_monitoring_an_empty_one_opens_nothing(cluster):
    assert "cluster-a" not in Client().get("/readyz", headers={"Authorization": "Bearer "}).content.decode()
    assert set(Client().get("/readyz").json()) == {"status"}


def test_field_report_76_the_overview_names_the_part_that_stands_still(admin, client_of, broker_url):
    beat("worker", timedelta(minutes=5))
    beat("beat")
    stands = "No worker runs: what is asked for is kept, and waits until one does."

    assert stands in client_of(admin).get("/").content.decode()

    beat("second-worker")
    Heartbeat.objects.filter(process="second-worker/host").update(kind="worker")
    text = client_of(admin).get("/").content.decode()
    assert stands not in text
    assert "does not answer: work goes on" not in text


def test_a_database_that_takes_no_write_is_told_instead_of_the_parts_that_cannot_sign_in_it(db, tmp_path, monkeypatch):
    if connection.vendor == "sqlite":
        monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "gone.sqlite3"))
    else:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")

    (told,) = health.notices()

    assert told.startswith("The database takes no writes")


def test_the_simulated_cluster_of_up_is_a_part_that_leaves_the_rest_ready(db, broker_url, settings, tmp_path):
    beat("worker")
    beat("beat")
    assert "simulator" not in {part.name for part in health.parts()}
    settings.SIMULATOR_DIR = str(tmp_path)
    (tmp_path / "port").write_text("nonsense")

    def simulator():
        return next(part for part in health.parts() if part.name == "simulator")

    assert not simulator().healthy
    with serving() as api:
        api.call(bootstrap, api.server)
        (tmp_path / "port").write_text(api.url.rpartition(":")[2] + "\n")
        assert simulator() == health.Part("simulator", healthy=True, required=False)
    gone = simulator()
    assert (gone.healthy, gone.required) == (False, False)
    assert gone.message.startswith("It does not answer: ")
    assert health.is_ready(health.parts())


def test_a_database_that_can_be_read_and_not_written_is_named(tmp_path):
    path = tmp_path / "muster.sqlite3"

    assert health.file_fault(path, spare=0) == "Its file is gone."
    path.touch()
    assert health.file_fault(path, spare=0) == ""
    assert health.file_fault(path, spare=2**62) == f"Its disk is full: less than {2**42} MiB are free."


@pytest.mark.skipif(os.geteuid() == 0, reason="only root may write what nobody may write")
def test_a_file_without_the_right_to_write_is_named(tmp_path):
    path = tmp_path / "muster.sqlite3"
    path.touch(mode=0o400)

    assert health.file_fault(path, spare=0) == "Its file is read-only."


@pytest.mark.skipif(connection.vendor == "sqlite", reason="only on PostgreSQL")
def test_a_database_that_became_read_only_is_not_healthy(db):
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")

    assert [(part.healthy, part.message) for part in health.parts()[:1]] == [(False, "It is read-only.")]


def test_a_database_without_its_tables_is_named(db):
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE controlplane_heartbeat")

    (database,) = health.parts()

    assert (database.name, database.healthy) == ("database", False)
    assert "controlplane_heartbeat" in database.message
