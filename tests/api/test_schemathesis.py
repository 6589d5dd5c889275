"""Every operation of openapi.yaml against requests made from it: no 5xx, nothing that the document does not say."""

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.generation.modes import GenerationMode

from accounts import tokens
from clusters.models import Cluster
from controlplane import api_waiting
from controlplane.api_docs import document
from controlplane.tasks import reconcile_row
from organizations.models import Department, Project
from tests.api.filling import PASSWORD, filler, ids_of, named_anew
from tests.conftest import make_user
from topology.models import NetworkTopology, NodePool
from workloads.models import Workload

EXAMPLES = int(os.environ.get("MUSTER_SCHEMATHESIS_EXAMPLES", "2"))
# What these checks suppose is not so here, and why.
EXCLUDED = {
    # They follow the document's links from what was made: the second test.
    "use_after_free",
    "ensure_resource_availability",
}
# What leads to nothing that was made.
NO_WALK = re.compile(r"/watch$|/api/v\d/token$|/me/password$")


def checks() -> list[Any]:
    schemathesis.checks.load_all_checks()
    return [check for check in CHECKS.get_all() if check.__name__ not in EXCLUDED]


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Requests leave the test's connection open, as those of Django's own client do: its transaction would end."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.long
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.filterwarnings("ignore")
def test_no_request_is_answered_in_a_way_that_the_document_does_not_say(
    admin: Any, world: Any, settings: Any, mode: GenerationMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_REQUESTS_PER_MINUTE = settings.TOKENS_PER_MINUTE = 10**9
    monkeypatch.setattr(api_waiting, "LONGEST_WATCH", 0)  # a stream ends as soon as it is open
    admin.set_password(PASSWORD)
    admin.save()
    settings.MIDDLEWARE = tuple(m for m in settings.MIDDLEWARE if "conformance" not in m)
    schema = schemathesis.openapi.from_dict(document())
    schema.app = get_wsgi_application()
    schema.config.checks.positive_data_acceptance.expected_statuses.append("408")  # of a wait for what is not so
    schema.config.checks.negative_data_rejection.expected_statuses.append(
        "412"
    )  # of a state that is not the one there is
    ids = ids_of(world, make_user("colleague"))  # real ones, so that requests reach what is there
    fill = filler(world, admin, ids) if mode is GenerationMode.POSITIVE else _with_ids(ids)
    bearer = {"Authorization": f"Bearer {tokens.issue(admin).access}"}
    wrong, asked = {}, 0
    for result in schema.get_all_operations():
        operation = result.ok()
        asked += 1
        try:
            _ask(operation, fill, bearer, mode)
        except BaseExceptionGroup as error:
            wrong[operation.label] = [str(e) for e in error.exceptions]
        except Exception as error:
            wrong[operation.label] = [f"{type(error).__name__}: {error}"]

    assert asked > 150
    assert not wrong, json.dumps(wrong, indent=1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_what_was_made_is_there_and_what_was_deleted_is_gone_by_the_links_of_the_document(
    admin: Any, world: Any, gateway: Any, settings: Any
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 10**9
    settings.MIDDLEWARE = tuple(m for m in settings.MIDDLEWARE if "conformance" not in m)
    schema = schemathesis.openapi.from_dict(document()).exclude(path_regex=NO_WALK.pattern)
    schema.app = get_wsgi_application()
    bearer = {"Authorization": f"Bearer {tokens.issue(admin).access}"}
    fill, statuses = filler(world, admin, {}), Counter[tuple[str, bool]]()

    class Walk(schema.as_state_machine()):  # type: ignore[misc]  # the class is made at run time
        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": bearer}

        def before_call(self, case: Any) -> None:
            fill(case)
            case.body = named_anew(case.body)
            case.query = {name: value for name, value in (case.query or {}).items() if name != "dryRun"}

        def after_call(self, response: Any, case: Any) -> None:
            super().after_call(response, case)
            statuses[case.method, response.status_code < 300] += 1
            reconcile_deletions()

        def validate_response(self, response: Any, case: Any, **more: Any) -> None:
            case.validate_response(response, checks=following(), recorder=self.recorder)

    Walk.run(settings=walked)

    assert all(statuses[method, True] for method in ("POST", "GET", "DELETE")), statuses


def following() -> list[Any]:
    schemathesis.checks.load_all_checks()
    return [check for check in CHECKS.get_all() if check.__name__ in EXCLUDED]


def reconcile_deletions() -> None:
    """What was asked to go is gone, as soon after as the workers of an installation see to it."""
    for model in (Workload, Project, Department, NodePool, NetworkTopology, Cluster):
        for row in model.objects.exclude(deletion_requested_at=None):
            reconcile_row(row._meta.label, str(row.pk))


def _with_ids(ids: dict[str, Any]) -> Callable[[Any], None]:
    """Fills in the first id of a path, so that requests reach what is there."""

    def fill(case: Any) -> None:
        collection = re.search(r"/([a-z-]+)/\{([^}]+)\}", case.operation.path)
        if collection and collection[1] in ids:
            case.path_parameters = {**case.path_parameters, collection[2]: str(ids[collection[1]])}
        if case.operation.path.endswith("/wait"):
            case.query = {**(case.query or {}), "timeout": 0}

    return fill


def _ask(operation: Any, fill: Callable[[Any], None], bearer: dict[str, str], mode: GenerationMode) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings_of
    def ask(case: Any) -> None:
        fill(case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = case.call(headers=bearer)
            try:
                case.validate_response(answer, headers=bearer, checks=checks())
            except BaseException as error:
                asked = f"{case.method} {case.formatted_path} {case.query} {case.body!r}"
                raise AssertionError(f"{error}\n{asked}: {answer.status_code} {answer.text}"[:2000]) from error

    with transaction.atomic():  # what one operation deletes, the next may need
        ask()
        transaction.set_rollback(True)


settings_of = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
walked = settings(settings_of, max_examples=10 * EXAMPLES, stateful_step_count=8, phases=[Phase.generate])
