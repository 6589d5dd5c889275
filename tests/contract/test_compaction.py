"""What is too old once the history is gone: the real server's etcd is compacted, the simulator forgets its history."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract import servers
from tests.contract.client import Answer, Api, in_new_namespace, until
from tests.contract.conftest import SERVERS
from tests.contract.steps import labelled, widget

OLD = "The provided continue parameter is too old to display a consistent list result."
# A real server's cache looks every 15 s for what was compacted.
FORGOTTEN_SECONDS = 60


@pytest.fixture(scope="module")
def compacted_server() -> Iterator[Api]:
    """One of its own: what is recorded of the other is of a server that remembers everything."""
    with servers.real() as (api, cluster):
        api.compact = cluster.compact
        yield api


@pytest.fixture(params=SERVERS)
def forgetful(request: pytest.FixtureRequest) -> Api:
    name = "simulator_api" if request.param == "simulator" else "compacted_server"
    found: Api = request.getfixturevalue(name)
    return in_new_namespace(found)


def _make(api: Api, *names: str) -> None:
    for name in names:
        api.post("configmaps", labelled(name, of="old"))


def _page(api: Api, **query: Any) -> Answer:
    return api.get("configmaps", labelSelector="of=old", **query)


def test_what_is_too_old_is_gone_and_reading_goes_on_with_what_is_there_now(forgetful: Api) -> None:
    """A continue token and an exact version, which are forgotten at one moment: it is waited for once."""
    _make(forgetful, *"abcd")
    page = _page(forgetful, limit=2)
    forgetful.delete("configmaps/d")
    _make(forgetful, "e")
    exact = {"resourceVersion": page.meta["resourceVersion"], "resourceVersionMatch": "Exact", "limit": 1}
    forgetful.compact()

    def asked() -> tuple[Answer, Answer]:
        return _page(forgetful, limit=2, **{"continue": page.meta["continue"]}), _page(forgetful, **exact)

    continued, at_version = until(asked, lambda both: 200 not in {each.status for each in both}, FORGOTTEN_SECONDS)

    assert (continued.code, at_version.code) == ((410, "Expired"), (410, "Expired"))
    assert continued.message.startswith(OLD)
    rest = _page(forgetful, limit=5, **{"continue": continued.meta["continue"]})
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["c", "e"]
    assert [item["metadata"]["name"] for item in _page(forgetful).body["items"]] == ["a", "b", "c", "e"]


def test_a_watch_of_a_version_before_everything_says_410(forgetful: Api) -> None:
    """A real server's cache of a kind begins with the kind, which is long after version 1."""
    forgetful.post("widgets/widgets", widget())
    forgetful.compact()

    (event,) = forgetful.watch("widgets/widgets", resourceVersion="1", timeoutSeconds="3")

    status = event["object"]
    assert (event["type"], status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
