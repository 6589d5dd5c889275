"""`/api/v1/node-pools/{id}/fair-share`: the division of a pool among its queues, what-ifs, history.

GPUs in devices, CPU in cores, memory in GB (10^9 bytes); null is unlimited. Queues that the caller may not name are
one entry with their number.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from core.api.ids import number_of
from core.api.listing import choice_parameter, read_choice
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.moments import rfc3339
from core.times import read_moment
from organizations import fair_share_history as recorded
from organizations.api.shapes import FairShare, FairShareHistory
from organizations.fair_share import (
    RESOURCES,
    Board,
    Row,
    board_rows,
    board_totals,
    bound,
    fair_share_board,
    queue_names,
)
from organizations.fair_share_changes import read_what_if
from organizations.fair_share_presenting import sentence_of
from organizations.fair_share_words import people
from organizations.models import Project
from organizations.quota import as_bound, as_number
from scheduling.fairshare import Gift
from scheduling.shares import LevelSteps
from topology.models import NodePool

RIGHT = "project:read"
RESOURCE = choice_parameter("resource", RESOURCES)
WHAT_IF = [
    OpenApiParameter("total", OpenApiTypes.STR, description="What if so much could be shared. Nothing is saved."),
    OpenApiParameter("deserved.{queue}", OpenApiTypes.STR, description="What if this queue deserved so much."),
    OpenApiParameter("limit.{queue}", OpenApiTypes.STR, description="What if this queue had this limit."),
    OpenApiParameter("weight.{queue}", OpenApiTypes.STR, description="What if this queue had this over-quota weight."),
    OpenApiParameter("priority.{queue}", OpenApiTypes.STR, description="What if this queue had this priority."),
]


class FairShareView(ApiView):
    """One node pool's queues."""

    parameters = (RESOURCE, *WHAT_IF)
    gives: Mapping[str, Any] = {"get": FairShare}

    def get(self, request: Request, pool_id: str) -> Response:
        """Shares, holdings, debts and steps of one resource; with a what-if, those that it would give."""
        pool, resource = find_pool(request, pool_id), read_choice(request, RESOURCE)
        board = fair_share_board(request.user, pool, now=timezone.now())
        asked = read_what_if(request.query_params.dict(), board, resource)
        if asked.faults:
            raise InvalidInput(asked.faults)
        if not asked.is_empty:
            board = fair_share_board(request.user, pool, now=timezone.now(), changes=asked.changes)
        return Response(board_json(board, resource) | {"whatIf": not asked.is_empty})


class FairShareHistoryView(ApiView):
    """How the division of a pool went over time."""

    parameters = (
        RESOURCE,
        OpenApiParameter("queue", OpenApiTypes.STR, required=True),
        OpenApiParameter("start", OpenApiTypes.DATETIME, description="A day ago by default; 14 days are kept."),
    )
    gives: Mapping[str, Any] = {"get": FairShareHistory}

    def get(self, request: Request, pool_id: str) -> Response:
        """One queue, a value every 5 minutes, at most 1000; where nothing was recorded there is none."""
        pool, resource = find_pool(request, pool_id), read_choice(request, RESOURCE)
        queue = request.query_params.get("queue", "")
        if not queue:
            raise InvalidInput.of("queue", "Required parameter is missing", "the name of a queue")
        if not queue_names(request.user, pool.cluster, [queue])[queue].text:
            raise NotFound
        moments = list(recorded.history(pool, _start(request)))
        points, priorities = recorded.series(moments, queue, resource), recorded.priorities(moments, queue)
        values = [
            {"at": rfc3339(at, "microseconds"), "priority": priorities[at], **_amounts(resource, amounts)}
            for at, amounts in points
            if amounts
        ]
        return Response({"queue": queue, "resource": resource, "values": values})


def find_pool(request: Request, pool_id: str) -> NodePool:
    """The visible pool of this id. Raises `NotFound`."""
    require(request.user, RIGHT)
    rows = NodePool.objects.select_related("cluster")
    found: NodePool = rows.get_visible(request.user, pk=number_of(pool_id))
    return found


def _start(request: Request) -> datetime:
    text = request.query_params.get("start")
    if text is None:
        return timezone.now() - timedelta(days=1)
    moment = read_moment(text)
    if moment is None:
        raise InvalidInput.of("start", f"{text[:40]!r} is no moment", "RFC 3339: 2026-11-29T10:00:00Z")
    return moment


def board_json(board: Board, resource: str) -> dict[str, Any]:
    """The whole division of one resource."""
    totals = board_totals(board, resource)
    rows = board_rows(board, resource)
    return {
        "nodePool": {"id": str(board.pool.pk), "name": board.pool.name},
        "resource": resource,
        "observedAt": rfc3339(board.shard.observed_at, "microseconds"),
        "unknown": list(board.shard.unknown),
        "total": as_number(totals.shared),
        "capacity": as_number(totals.capacity),
        "held": as_number(totals.held),
        "asked": as_number(totals.asked),
        "idleQuota": as_number(totals.idle_quota),
        "queues": [_row_json(board, resource, row) for row in rows],
        "debts": _debts_json(board, resource),
        "levels": [_level_json(board, resource, level) for level in board.division(resource).levels],
    }


def _row_json(board: Board, resource: str, row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        "queue": row.queue or None,
        "hidden": row.hidden,
        "depth": row.depth,
        "deserved": as_bound(row.deserved),
        "limit": as_bound(row.limit),
        "overQuotaWeight": None if row.weight is None else as_number(row.weight),
        "priority": row.priority,
        "fairShare": as_number(row.fair),
        "allocated": as_number(row.held),
        "allocatedNonPreemptible": as_number(row.fixed),
        "requested": as_number(row.asked),
        "state": row.state or None,
    }
    owner = row.name.owner
    if row.queue and owner is not None:
        kind = "project" if isinstance(owner, Project) else "department"
        found["owner"] = {"type": kind, "id": str(owner.pk), "name": owner.name}
    if row.share is not None and row.holding is not None:
        share = row.share
        found |= {
            "total": as_number(people(resource, share.total)),
            "guaranteed": as_number(people(resource, share.guaranteed)),
            "overQuota": as_number(people(resource, share.over_quota)),
            "unused": as_number(people(resource, share.unused)),
            "weights": share.weights,
            "bound": share.bound.value,
            "reclaimable": as_number(people(resource, row.holding.borrowed)),
            "sentence": sentence_of(board, resource, row),
        }
    return found


def _debts_json(board: Board, resource: str) -> list[dict[str, Any]]:
    return [
        {
            "starved": _named(board, debt.starved),
            "borrower": _named(board, debt.borrower),
            "amount": as_number(people(resource, debt.amount)),
            "byQuota": debt.by_quota,
        }
        for debt in board.shares.debts[resource]
        if board.name(debt.starved) or board.name(debt.borrower)
    ]


def _named(board: Board, queue: str) -> str | None:
    return queue if board.name(queue) else None


def _level_json(board: Board, resource: str, level: LevelSteps) -> dict[str, Any]:
    def gifts(found: Sequence[Gift]) -> list[dict[str, Any]]:
        return [
            {
                "queue": _named(board, gift.uid),
                "amount": as_number(people(resource, gift.amount)),
                "part": as_number(people(resource, gift.part)),
            }
            for gift in found
        ]

    return {
        "parent": _named(board, level.parent) if level.parent else None,
        "total": as_number(people(resource, level.total)),
        "unused": as_number(people(resource, level.unused)),
        "quotas": gifts(level.quotas),
        "rounds": [
            {
                "priority": each.priority,
                "leftOver": as_number(people(resource, each.pot)),
                "gifts": gifts(each.gifts),
            }
            for each in level.rounds
        ],
        "oddUnits": gifts(level.remainders),
    }


def _amounts(resource: str, amounts: recorded.Amounts) -> dict[str, Any]:
    return {
        "deserved": as_bound(bound(resource, amounts.deserved)),
        "limit": as_bound(bound(resource, amounts.limit)),
        "overQuotaWeight": amounts.weight,
        "fairShare": as_number(people(resource, amounts.fair)),
        "allocated": as_number(people(resource, amounts.held)),
        "allocatedNonPreemptible": as_number(people(resource, amounts.fixed)),
        "requested": as_number(people(resource, amounts.asked)),
    }
