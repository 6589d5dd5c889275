"""Every URL × every kind of person: what each is answered. MUSTER_WRITE_MATRIX=1 writes matrix.txt anew.

A row is `METHOD name: statuses`, the people in the order of `PEOPLE`. New rows are read by a person before they are
committed: `-` means that the method is not there.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.signals import request_finished
from django.db import close_old_connections, transaction
from django.test import Client

from tests.contracts.urlconf import Route, path_of, routes, streams

TABLE = Path(__file__).with_name("matrix.txt")
PEOPLE = ("anonymous", "no-rule", "other-department", "viewer", "researcher", "department-admin", "admin")
METHODS = ("get", "post", "put", "patch", "delete")
# No such method, or an operation that Muster does not have.
ABSENT = frozenset({405, 501})
# What is sent where an empty body asks for nothing.
BODIES = {
    "workloads:scale": {"component": "worker", "replicas": "2"},
    "workload-v2": {"desiredPhase": "Stopped"},
}


# What a list must be asked.
_HOUR = "?start=2026-11-29T10:00:00Z&end=2026-11-29T11:00:00Z"
_SPAN = f"{_HOUR}&metricType=GPU_UTILIZATION"
QUERIES = {
    "node-metrics": _SPAN,
    "workload-metrics": _SPAN,
    "pod-metrics": _SPAN,
    "cluster-metrics": _SPAN,
    "node-pool-metrics": _SPAN,
    "project-metrics": _SPAN,
    "department-metrics": _SPAN,
    "nodes-telemetry": "?telemetryType=TOTAL_GPUS",
    "workloads-telemetry": "?telemetryType=WORKLOADS_COUNT",
    "departments-telemetry": "?telemetryType=GPU_QUOTA",
    "projects-telemetry": "?telemetryType=GPU_QUOTA",
    "audit-log": _HOUR,
    "audit-log-file": _HOUR,
    "fair-share-history": "?queue=assistant",
}


def rows(cast: Mapping[str, Any], clients: Mapping[str, Client]) -> Iterator[tuple[str, str]]:
    """(`METHOD name`, statuses) of every URL and method that is there; each request is undone."""
    admin = clients[PEOPLE[-1]]
    for route in [*routes(), *streams()]:
        for method in METHODS if route.is_api else METHODS[:2]:
            # Whether there is such a method does not depend on who asks.
            if (told := ask(admin, method, route, cast)) in ABSENT:
                continue
            others = [ask(client, method, route, cast) for client in clients.values() if client is not admin]
            yield f"{method.upper()} {route.name}", " ".join(map(str, [*others, told]))


def ask(client: Client, method: str, route: Route, cast: Mapping[str, Any]) -> int:
    """The status of an answer, whose effect is undone."""
    path, session = path_of(route, cast), client.cookies.get("sessionid")
    kept = session.value if session else ""
    with transaction.atomic():
        if method == "get":
            answer = client.get(path + QUERIES.get(route.name, ""))
        elif route.is_api:
            answer = getattr(client, method)(
                path, data=json.dumps(BODIES.get(route.name, {})), content_type="application/json"
            )
        else:
            answer = client.post(path, BODIES.get(route.name, {}))
        if answer.streaming:
            _leave(answer)
        transaction.set_rollback(True)
    client.cookies.clear()
    if kept:
        client.cookies["sessionid"] = kept
    return int(answer.status_code)


def _leave(stream: Any) -> None:
    """End a stream, and keep the test's connection to the database: Django's client spares it for other answers."""
    request_finished.disconnect(close_old_connections)
    stream.close()
    request_finished.connect(close_old_connections)


def expected() -> dict[str, str]:
    """The committed table."""
    lines = TABLE.read_text().splitlines() if TABLE.exists() else []
    found = (line.rpartition(":") for line in lines if line and not line.startswith("#"))
    return {name.strip(): statuses.strip() for name, _colon, statuses in found}


def write(found: Mapping[str, str]) -> None:
    """Write the table."""
    head = f"# {' '.join(PEOPLE)}\n"
    TABLE.write_text(head + "".join(f"{name}: {statuses}\n" for name, statuses in sorted(found.items())))
