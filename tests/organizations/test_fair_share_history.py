"""The history of fair shares: recorded once a period, thinned, kept for days, drawn and answered."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from organizations import fair_share_history, tasks
from organizations.fair_share import fair_share_board
from organizations.models import FairShareRecord
from tests.conftest import make_user
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def test_history_is_recorded_once_a_period_and_read_back(pool: NodePool, cluster: Cluster) -> None:
    now = timezone.now()
    cluster.refresh_from_db()

    assert fair_share_history.record_fair_shares(cluster, now=now) == 1
    assert fair_share_history.record_fair_shares(cluster, now=now) == 0

    moments = list(fair_share_history.history(pool, now - timedelta(hours=1)))
    ((at, amounts),) = fair_share_history.series(moments, "assistant", "gpu")
    assert now - at < fair_share_history.EVERY
    assert amounts == fair_share_history.Amounts(16, -1, 2, 24, 28, 0, 60)
    assert fair_share_history.series(moments, "nobody", "gpu") == [(at, None)]


def test_nothing_is_recorded_of_a_cluster_that_is_not_heard(pool: NodePool, cluster: Cluster) -> None:
    Cluster.objects.update(watcher_until=None)
    cluster.refresh_from_db()

    assert fair_share_history.record_fair_shares(cluster, now=timezone.now()) == 0


def test_history_is_kept_for_days_and_not_longer(pool: NodePool, cluster: Cluster) -> None:
    now = timezone.now()
    for age in (timedelta(0), timedelta(days=13), timedelta(days=15)):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - age, content=b"")

    assert fair_share_history.delete_outdated(now) == 1
    assert FairShareRecord.objects.count() == 2


def test_long_histories_are_thinned_and_keep_the_newest(
    pool: NodePool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_share_history, "MOST_POINTS", 4)
    now = timezone.now()
    content = fair_share_history.pack(fair_share_board(make_user("a"), pool, now=now).shares)
    for age in range(10):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - timedelta(minutes=5 * age), content=content)

    moments = [moment.at for moment in fair_share_history.history(pool, now - timedelta(days=1))]

    assert len(moments) == 4
    assert moments[-1] == now


def test_the_beat_records_every_cluster_that_answers(
    pool: NodePool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.record_one, "apply_async", lambda args, **_: sent.append(args[0]))

    assert tasks.record_all() == 1
    assert tasks.record_one(sent[0]) == 1


def test_the_chart_of_a_queue_breaks_where_nothing_was_recorded(
    admin: User, pool: NodePool, cluster: Cluster, client_of: Any
) -> None:
    now = timezone.now()
    content = fair_share_history.pack(fair_share_board(admin, pool, now=now).shares)
    for minutes in (0, 5, 60):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - timedelta(minutes=minutes), content=content)

    figure = client_of(admin).get("/fair-share/?queue=vision&hours=6").context["figure"]

    fair = next(trace for trace in figure["data"] if trace["name"] == "fair share")
    assert fair["y"] == [40.0, None, 40.0, 40.0]
