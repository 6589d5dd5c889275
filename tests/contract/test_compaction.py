"""What is too old once the history is gone: by compaction of the real server's etcd, and of the simulator's store."""

import json
from typing import Any

from tests.contract.client import Api
from tests.contract.steps import config, labelled

OLD = "The provided continue parameter is too old to display a consistent list result."


def _make(api: Api, *names: str) -> None:
    for name in names:
        api.post("configmaps", labelled(name, of="old"))


def _page(api: Api, **query: Any) -> Any:
    return api.get("configmaps", labelSelector="of=old", **query)


def test_a_continue_token_is_too_old_and_another_goes_on_with_what_is_there_now(api: Api) -> None:
    _make(api, *"abcd")
    token = _page(api, limit=2).meta["continue"]
    api.delete("configmaps/d")
    _make(api, "e")

    api.compact()
    answer = _page(api, limit=2, **{"continue": token})

    assert answer.code == (410, "Expired")
    assert answer.message.startswith(OLD)
    rest = _page(api, limit=5, **{"continue": answer.meta["continue"]})
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["c", "e"]


def test_an_exact_version_is_gone(api: Api) -> None:
    _make(api, "a")
    version = _page(api).meta["resourceVersion"]
    _make(api, "b")

    api.compact()
    answer = _page(api, resourceVersion=version, resourceVersionMatch="Exact", limit=1)

    assert answer.code == (410, "Expired")


def test_a_list_without_a_version_goes_on(api: Api) -> None:
    _make(api, "a")
    api.compact()

    assert [item["metadata"]["name"] for item in _page(api).body["items"]] == ["a"]


def test_a_watch_of_a_version_before_everything_says_410(api: Api) -> None:
    api.post("configmaps", config("a"))
    api.compact()

    query = {"watch": "true", "resourceVersion": "1", "timeoutSeconds": "3"}
    body = api.call("GET", "configmaps", query=query).body
    event = body if isinstance(body, dict) else json.loads(body.splitlines()[0])

    status = event.get("object", event)
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
