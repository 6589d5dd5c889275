"""Fair shares by REST: shares, debts, steps, what-ifs and history."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from organizations import fair_share_history
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def api(pool: NodePool, rest: str = "") -> str:
    return f"/api/v1/node-pools/{pool.pk}/fair-share{rest}"


def test_the_api_tells_shares_debts_and_steps(admin: User, pool: NodePool, client_of: Any) -> None:
    body = client_of(admin).get(api(pool)).json()

    assistant = next(row for row in body["queues"] if row["queue"] == "assistant")
    assert assistant["fairShare"] == 24
    assert (assistant["guaranteed"], assistant["overQuota"], assistant["unused"], assistant["weights"]) == (
        16,
        8,
        12,
        3,
    )
    assert assistant["owner"] == {"type": "project", "id": assistant["owner"]["id"], "name": "assistant"}
    assert assistant["limit"] is None
    assert body["debts"] == [{"starved": "vision", "borrower": "assistant", "amount": 12, "byQuota": True}]
    assert [(level["parent"], level["total"], level["unused"]) for level in body["levels"]] == [
        (None, 64, 0), ("research", 64, 12),
    ]  # fmt: skip
    assert body["whatIf"] is False


def test_the_api_answers_what_ifs_and_refuses_wrong_ones(admin: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(admin)

    body = page.get(api(pool, "?deserved.vision=20")).json()
    assert {row["queue"]: row["fairShare"] for row in body["queues"]} == {"research": 64, "assistant": 35, "vision": 29}
    assert body["whatIf"] is True
    for query in ("?deserved.vision=x", "?resource=disk", "?weight.vision=-2"):
        assert page.get(api(pool, query)).status_code == 400


def test_the_api_hides_what_is_out_of_scope(researcher: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(researcher)

    text = page.get(api(pool)).content.decode()
    assert "vision" not in text
    assert page.get(api(pool, "/history?queue=vision")).status_code == 404


def test_the_api_tells_history(admin: User, pool: NodePool, cluster: Cluster, client_of: Any) -> None:
    cluster.refresh_from_db()
    fair_share_history.record_fair_shares(cluster, now=timezone.now())
    page = client_of(admin)

    (value,) = page.get(api(pool, "/history?queue=vision")).json()["values"]
    assert (value["fairShare"], value["allocated"], value["requested"], value["deserved"]) == (40, 24, 40, 36)
    assert value["priority"] == 100
    assert page.get(api(pool, "/history")).status_code == 400
    assert page.get(api(pool, "/history?queue=vision&start=yesterday")).status_code == 400
