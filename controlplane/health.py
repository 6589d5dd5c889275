"""How each part of the installation does: the database, the broker, workers, beat, the simulated cluster of `up`, and
every cluster's watcher."""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext

from clusters.models import Cluster
from controlplane import heartbeats
from core import broker
from core.conditions import find
from core.moments import rfc3339

SIMULATOR_SECONDS = 1.0
# With less a transaction of the watcher may fail; a database of thousands of nodes writes a few MiB at a time.
SPARE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Part:
    """One part. `age` is the time since it last gave a sign, None where it never did or where age says nothing.

    `required`: without it Muster does not do its job. A cluster's watcher may be down without the rest being so.
    `cluster`: the one that it concerns alone.
    """

    name: str
    healthy: bool
    message: str = ""
    age: timedelta | None = None
    required: bool = True
    cluster: str = ""


def parts() -> Sequence[Part]:
    """All parts, in the order in which they depend on each other; takes a second or two at most."""
    database = _database()
    if not database.healthy:
        return (database,)
    try:
        return (database, _broker(), _process("worker"), _process("beat"), *_simulator(), *_watchers(), *_rights())
    except DatabaseError as error:  # it answers, and has not what Muster keeps in it
        return (_broken(error),)


def is_ready(found: Sequence[Part]) -> bool:
    """Whether every required part is healthy."""
    return all(part.healthy for part in found if part.required)


def lacking(cluster: str) -> str:
    """What is not healthy, each part with its cause: of what serves every cluster, and of this one. Empty: nothing."""
    concerned = (part for part in parts() if part.cluster in ("", cluster))
    return " ".join(f"{part.name}: {part.message}" for part in concerned if not part.healthy)


def notices() -> Sequence[str]:
    """What people should know who wait for something: which part stands still, and what that means to them.

    A database that takes no write comes alone: who cannot sign in it may well be running.
    """
    if _unwritable():
        return [
            gettext("The database takes no writes: what you see is what was there before, and nothing can be changed.")
        ]
    found = []
    if not _process("worker").healthy:
        found.append(gettext("No worker runs: what is asked for is kept, and waits until one does."))
    if not _process("beat").healthy:
        found.append(gettext("The clock does not run: what changes in the clusters is looked at later than usual."))
    if broker.is_lost() or not broker.is_alive():
        found.append(gettext("The broker does not answer: work goes on, later than usual."))
    return found


def _database() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return _broken(error)
    unwritable = _unwritable()
    return Part("database", healthy=not unwritable, message=unwritable)


def _broken(error: DatabaseError) -> Part:
    return Part("database", healthy=False, message=str(error).split("\n", 1)[0])


def _unwritable() -> str:
    """Why nothing can be written into a database that can be read; empty where nothing is known against it."""
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            return "It is read-only." if cursor.fetchone() == ("on",) else ""
    path = Path(str(connection.settings_dict["NAME"]))
    return file_fault(path, spare=SPARE_BYTES) if path.is_absolute() else ""  # else it is in memory


def file_fault(path: Path, *, spare: int) -> str:
    """Why a database file cannot be written, with less than `spare` bytes free for one; empty where it can."""
    if not path.exists():
        return "Its file is gone."
    disk = os.statvfs(path)
    if disk.f_flag & os.ST_RDONLY or not os.access(path, os.W_OK):
        return "Its file is read-only."
    if disk.f_bavail * disk.f_frsize < spare:
        return f"Its disk is full: less than {spare // 2**20} MiB are free."
    return ""


def _broker() -> Part:
    if broker.is_alive():
        return Part("broker", healthy=True)
    return Part("broker", healthy=False, message="The broker does not answer. Work goes on, later than usual.")


def _process(kind: str) -> Part:
    at = heartbeats.latest(kind)
    if at is None:
        return Part(kind, healthy=False, message=f"No {kind} has run yet.")
    age = _age(at)
    if age <= heartbeats.STALE_AFTER:
        return Part(kind, healthy=True, age=age)
    return Part(kind, healthy=False, message=f"No {kind} has given a sign since {rfc3339(at)}.", age=age)


def _simulator() -> list[Part]:
    """The simulated cluster that `up` runs; nothing in any other installation. It is one cluster, so not required."""
    if not settings.SIMULATOR_DIR:
        return []
    try:
        port = int((Path(settings.SIMULATOR_DIR) / "port").read_text())
        asked = HTTPConnection("127.0.0.1", port, timeout=SIMULATOR_SECONDS)
        with closing(asked):
            asked.request("GET", "/readyz")
            status = asked.getresponse().status
    except (OSError, ValueError, HTTPException) as error:
        return [Part("simulator", healthy=False, message=f"It does not answer: {error}", required=False)]
    if status != 200:
        return [Part("simulator", healthy=False, message=f"It answers with HTTP {status}.", required=False)]
    return [Part("simulator", healthy=True, required=False)]


def _watchers() -> list[Part]:
    return [_watcher(cluster) for cluster in Cluster.objects.filter(deletion_requested_at=None).order_by("name")]


def _watcher(cluster: Cluster) -> Part:
    name = f"watcher of {cluster.name}"
    until = cluster.watcher_until
    if until is None or until < timezone.now():
        since = f" since {rfc3339(until)}" if until else ""
        return Part(name, False, f"Nobody watches the cluster{since}.", required=False, cluster=cluster.name)
    errors = [f"{kind}: {state['error']}" for kind, state in sorted(cluster.streams.items()) if state.get("error")]
    at = cluster.last_contact_at
    age = _age(at) if at else None
    return Part(name, not errors, "; ".join(errors), age, required=False, cluster=cluster.name)


def _rights() -> list[Part]:
    """The clusters whose role lacks a permission: what needs it stands still, the rest goes on."""
    found = []
    for cluster in Cluster.objects.filter(deletion_requested_at=None).order_by("name"):
        condition = find(cluster.conditions, "Permitted")
        if condition and condition["status"] == "False":
            message = str(condition["message"])
            found.append(Part(f"rights in {cluster.name}", False, message, required=False, cluster=cluster.name))
    return found


def _age(at: datetime) -> timedelta:
    # Clocks differ: an age is never negative.
    return max(timezone.now() - at, timedelta(0))
