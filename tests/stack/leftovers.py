"""What a cluster and Muster's database hold, told so that two moments can be compared: after everything was deleted,
nothing may be left of it and nothing of what was there before may be missing.
"""

import json
from collections import Counter
from typing import Any

from tests.stack.database import rows_of
from tests.stack.installation import Muster, wait_until

# Heartbeats and the record of what happened; their number says nothing of what is there.
PASSING = ("events", "events.events.k8s.io", "leases.coordination.k8s.io")
TABLES = (
    "topology_networktopology",
    "topology_nodepool",
    "organizations_department",
    "organizations_project",
    "organizations_projectsecret",
    "organizations_quota",
    "organizations_sharedsecret",
    "workloads_workload",
    "clusters_clusterobject",
    "clusters_node",
    "clusters_pod",
)


def objects_there(muster: Muster) -> Counter[str]:
    """`Kind namespace/name` of every object of the cluster, and of every label of a node."""
    kinds = muster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    wanted = ",".join(kind for kind in kinds if kind not in PASSING)
    items = json.loads(muster.kubectl("get", wanted, "-A", "-o", "json"))["items"]
    found = Counter(map(_named, items))
    for item in items:
        if item["kind"] == "Node":
            found += Counter(f"{_named(item)} {label}" for label in item["metadata"]["labels"].items())
    return found


def rows_there(muster: Muster) -> Counter[str]:
    """How many rows there are, by table."""
    return Counter({table: rows_of(muster, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES})


def await_what_muster_makes_by_itself(muster: Muster) -> tuple[Counter[str], Counter[str]]:
    """Objects and rows of an installation in which nobody has done anything, once its default department has its
    queue and the watcher has seen it."""

    def standing() -> tuple[Counter[str], Counter[str]] | None:
        objects, rows = objects_there(muster), rows_there(muster)
        started = rows["organizations_department"] == rows["topology_nodepool"] == 1 and objects["Queue default"]
        seen = rows["clusters_clusterobject"] and (objects_there(muster), rows_there(muster)) == (objects, rows)
        return (objects, rows) if started and seen else None

    return wait_until(standing, "the default department and pool")


def await_nothing_left(muster: Muster, before: tuple[Counter[str], Counter[str]]) -> None:
    """Wait until cluster and database hold what they held before; fails with the difference."""
    difference: Any = None

    def clean() -> bool:
        nonlocal difference
        now = objects_there(muster), rows_there(muster)
        difference = [(sorted(have - had), sorted(had - have)) for have, had in zip(now, before, strict=True)]
        return now == before

    try:
        wait_until(clean, "cluster and database to be as they were", 90)
    except AssertionError as error:
        raise AssertionError(f"{error}: (too many, missing) objects and rows: {difference}") from None


def _named(item: dict[str, Any]) -> str:
    metadata = item["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{item['kind']} {where}{metadata['name']}"
