"""What is too old once the history is gone: the real server compacts its etcd, the simulator forgets its history."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract import servers
from tests.contract.client import Answer, Api, in_new_namespace, until
from tests.contract.conftest import SERVERS
from tests.contract.steps import labelled, widget

OLD = "The provided continue parameter is too old to display a consistent list result."
# The real server compacts what is two intervals old, and its cache looks for that every 15 seconds.
INTERVAL = "--etcd-compaction-interval=2s"
FORGOTTEN_SECONDS = 90


@pytest.fixture(scope="module")
def compacting_server() -> Iterator[Api]:
    with servers.real(INTERVAL) as (api, _):
        yield api


@pytest.fixture(params=SERVERS)
def forgetful(request: pytest.FixtureRequest) -> Api:
    name = "simulator_api" if request.param == "simulator" else "compacting_server"
    found: Api = request.getfixturevalue(name)
    return in_new_namespace(found)


def _make(api: Api, *names: str) -> None:
    for name in names:
        api.post("configmaps", labelled(name, of="old"))


def _page(api: Api, **query: Any) -> Answer:
    return api.get("configmaps", labelSelector="of=old", **query)


def _once_forgotten(api: Api, ask: Callable[[], Answer]) -> Answer:
    """The first answer that is no success, after the history was given up."""
    api.compact()
    return until(ask, lambda answer: answer.status != 200, FORGOTTEN_SECONDS)


def test_a_continue_token_is_too_old_and_another_goes_on_with_what_is_there_now(forgetful: Api) -> None:
    _make(forgetful, *"abcd")
    token = _page(forgetful, limit=2).meta["continue"]
    forgetful.delete("configmaps/d")
    _make(forgetful, "e")

    answer = _once_forgotten(forgetful, lambda: _page(forgetful, limit=2, **{"continue": token}))

    assert answer.code == (410, "Expired")
    assert answer.message.startswith(OLD)
    rest = _page(forgetful, limit=5, **{"continue": answer.meta["continue"]})
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["c", "e"]


def test_an_exact_version_is_gone(forgetful: Api) -> None:
    _make(forgetful, "a")
    version = _page(forgetful).meta["resourceVersion"]
    _make(forgetful, "b")
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact", "limit": 1}

    answer = _once_forgotten(forgetful, lambda: _page(forgetful, **exact))

    assert answer.code == (410, "Expired")
    assert [item["metadata"]["name"] for item in _page(forgetful).body["items"]] == ["a", "b"]


def test_a_watch_of_a_version_before_everything_says_410(forgetful: Api) -> None:
    """A real server's cache of a kind begins with the kind, which is long after version 1."""
    forgetful.post("widgets/widgets", widget())
    forgetful.compact()

    (event,) = forgetful.watch("widgets/widgets", resourceVersion="1", timeoutSeconds="3")

    status = event["object"]
    assert (event["type"], status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
