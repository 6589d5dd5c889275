"""Every operation of openapi.yaml against requests made from it: no 5xx, nothing that the document does not say."""

import json
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.generation.modes import GenerationMode

from accounts import tokens
from controlplane.api_docs import document
from core.models import IdempotentAnswer
from tests.api.conftest import NODE_UID

EXAMPLES = int(os.environ.get("MUSTER_SCHEMATHESIS_EXAMPLES", "2"))
# What these checks suppose is not so here, and why.
EXCLUDED = {
    # A body or query of the right shape may still name what there is not (a cluster, a field to filter by): that is
    # 400 here, as in Run:ai, and no schema can say which names there are. tests/api holds what is accepted.
    "positive_data_acceptance",
    # They follow one operation's answer to the next, by links that the document does not have:
    # test_after_writes.py does so for each kind.
    "use_after_free",
    "ensure_resource_availability",
}
NOT_ASKED = re.compile(r"/watch$|/api/v\d/token$|/me/password$|/logout$|/users/\{[^}]+\}(/password)?$")


def checks() -> list[Any]:
    schemathesis.checks.load_all_checks()
    return [check for check in CHECKS.get_all() if check.__name__ not in EXCLUDED]


@pytest.fixture
def ids(world: Any) -> dict[str, Any]:
    """Real ids by the collection before them, so that requests reach what is there."""
    return {
        "clusters": world.cluster.pk,
        "nodes": NODE_UID,
        "network-topologies": world.topology.pk,
        "node-pools": world.pool.pk,
        "departments": world.department.pk,
        "projects": world.project.pk,
        "workloads": world.running.pk,
    }


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests leave the test's connection open, as those of Django's own client do: its transaction would end."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize(
    "mode",
    [GenerationMode.POSITIVE, pytest.param(GenerationMode.NEGATIVE, marks=pytest.mark.long)],
    ids=lambda mode: mode.value,
)
@pytest.mark.filterwarnings("ignore")
def test_no_request_is_answered_in_a_way_that_the_document_does_not_say(
    admin: Any, ids: dict[str, Any], settings: Any, mode: GenerationMode
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 10**9
    settings.MIDDLEWARE = tuple(m for m in settings.MIDDLEWARE if "conformance" not in m)
    schema = schemathesis.openapi.from_dict(document())
    schema.app = get_wsgi_application()
    bearer = {"Authorization": f"Bearer {tokens.issue(admin).access}"}
    wrong, asked = {}, 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if NOT_ASKED.search(operation.path):
            continue
        asked += 1
        try:
            _ask(operation, ids, bearer, mode)
        except BaseExceptionGroup as error:
            wrong[operation.label] = [str(e)[:700] for e in error.exceptions]
        except Exception as error:
            wrong[operation.label] = [f"{type(error).__name__}: {error}"[:600]]

    assert asked > 150
    assert not wrong, json.dumps(wrong, indent=1)


def _ask(operation: Any, ids: dict[str, Any], bearer: dict[str, str], mode: GenerationMode) -> None:
    collection = re.search(r"/([a-z-]+)/\{([^}]+)\}", operation.path)

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings_of
    def ask(case: Any) -> None:
        if collection and collection[1] in ids:
            case.path_parameters = {**case.path_parameters, collection[2]: str(ids[collection[1]])}
        if case.query and "timeout" in case.query:
            case.query["timeout"] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.call_and_validate(headers=bearer, checks=checks())

    ask()
    IdempotentAnswer.objects.all().delete()


settings_of = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
