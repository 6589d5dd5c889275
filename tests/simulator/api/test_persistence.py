"""A cluster kept on disk: what comes back, what does not, and files that are not ours."""

import asyncio
import os
from pathlib import Path

import pytest

from clusters.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, KAI_QUEUE, NAMESPACE, SERVICE
from simulator.api import persistence, reading
from simulator.api.errors import ApiError
from simulator.api.persistence import FILE, JOURNAL, Keeper
from simulator.api.reading import ListOptions
from simulator.api.running import open_server
from tests.simulator.api.conftest import Verbs


def saved(directory: Path) -> Verbs:
    server, restored = open_server(Keeper(directory), "first-token")
    assert not restored
    verbs = Verbs(server)
    verbs.create(NAMESPACE, {"metadata": {"name": "team"}})
    verbs.create(KAI_QUEUE, {"metadata": {"name": "q"}, "spec": {"resources": {"gpu": {"quota": 1}}}})
    verbs.create(SERVICE, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}, "team")
    asyncio.run(Keeper(directory).save(server))
    return verbs


def test_objects_versions_and_tokens_come_back(tmp_path: Path) -> None:
    before = saved(tmp_path)
    server, restored = open_server(Keeper(tmp_path))
    after = Verbs(server)

    assert restored
    assert after.get(KAI_QUEUE, "q") == before.get(KAI_QUEUE, "q")
    assert after.names(NAMESPACE) == before.names(NAMESPACE)
    assert server.store.resource_version == before.server.store.resource_version
    assert server.tokens.admin_token == "first-token"
    assert server.tokens.key == before.server.tokens.key
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_versions_and_addresses_go_on_where_they_were(tmp_path: Path) -> None:
    before = saved(tmp_path)
    server, _ = open_server(Keeper(tmp_path))
    after = Verbs(server)
    made = after.create(SERVICE, {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}]}}, "team")
    old = before.get(SERVICE, "s", "team")

    assert int(made["metadata"]["resourceVersion"]) == before.server.store.resource_version + 1
    assert old is not None
    assert made["spec"]["clusterIP"] != old["spec"]["clusterIP"]


def test_watches_and_tokens_of_before_are_too_old(tmp_path: Path) -> None:
    before = saved(tmp_path)
    version = str(before.server.store.resource_version - 1)
    token = before.page(NAMESPACE, limit=1).continue_token
    server, _ = open_server(Keeper(tmp_path))
    after = Verbs(server)
    after.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "team")

    async def watch() -> None:
        options = ListOptions(resource_version=version)
        await anext(reading.watch(server, after.target(CONFIG_MAP), options))

    with pytest.raises(ApiError, match="too old resource version"):
        asyncio.run(watch())
    assert after.page(NAMESPACE, continue_token=token).entries


def test_a_crd_of_ones_own_is_served_again(tmp_path: Path) -> None:
    before = saved(tmp_path)
    schema = {"openAPIV3Schema": {"type": "object"}}
    spec = {
        "group": "example.org",
        "scope": "Cluster",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    before.create(CUSTOM_RESOURCE_DEFINITION, {"metadata": {"name": "things.example.org"}, "spec": spec})
    asyncio.run(Keeper(tmp_path).save(before.server))
    server, _ = open_server(Keeper(tmp_path))

    assert server.find("example.org", "v1", "things") is not None


def test_a_crd_of_an_earlier_release_is_brought_up_to_date(tmp_path: Path) -> None:
    before = saved(tmp_path)
    name = "queues.scheduling.run.ai"
    crd = before.get(CUSTOM_RESOURCE_DEFINITION, name)
    assert crd is not None
    changed = [{**crd["spec"]["versions"][0], "additionalPrinterColumns": []}]
    before.patch(CUSTOM_RESOURCE_DEFINITION, name, {"spec": {"versions": changed}})
    asyncio.run(Keeper(tmp_path).save(before.server))
    server, _ = open_server(Keeper(tmp_path))
    after = Verbs(server).get(CUSTOM_RESOURCE_DEFINITION, name)

    assert after is not None
    assert after["spec"] == crd["spec"]
    assert after["metadata"]["generation"] == 3
    assert Verbs(server).get(KAI_QUEUE, "q") is not None


def test_nothing_half_written_is_ever_read(tmp_path: Path) -> None:
    saved(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).with_suffix(".tmp").write_bytes(whole[: len(whole) // 2])
    server, restored = open_server(Keeper(tmp_path))

    assert restored
    assert Verbs(server).get(KAI_QUEUE, "q") is not None


def test_a_file_that_is_not_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("not ours\n")

    with pytest.raises(ValueError, match=r"cluster\.jsonl is not a saved cluster"):
        open_server(Keeper(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a device that only root may open for writing")
def test_a_full_disk_keeps_what_was_saved_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verbs = saved(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    real = os.open

    def full(path: object, *arguments: int) -> int:
        return real("/dev/full", os.O_WRONLY) if str(path).endswith(".tmp") else real(str(path), *arguments)

    monkeypatch.setattr(os, "open", full)
    verbs.create(NAMESPACE, {"metadata": {"name": "later"}})
    with pytest.raises(OSError, match="No space left on device"):
        asyncio.run(Keeper(tmp_path).save(verbs.server))

    assert (tmp_path / FILE).read_bytes() == whole


def made(verbs: Verbs) -> list[str]:
    """The config maps that tests made."""
    return [name for name in verbs.names(CONFIG_MAP) if name != "kube-root-ca.crt"]


def reopened(directory: Path) -> tuple[Keeper, Verbs]:
    keeper = Keeper(directory)
    server, restored = open_server(keeper)
    assert restored
    return keeper, Verbs(server)


def test_a_later_save_writes_what_changed_and_nothing_else(tmp_path: Path) -> None:
    saved(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    keeper, verbs = reopened(tmp_path)
    for number in range(3):
        verbs.create(CONFIG_MAP, {"metadata": {"name": f"c{number}"}}, "team")
    asyncio.run(keeper.save(verbs.server))
    verbs.delete(CONFIG_MAP, "c1", "team")
    verbs.patch(CONFIG_MAP, "c2", {"data": {"a": "b"}}, "team")
    asyncio.run(keeper.save(verbs.server))

    assert (tmp_path / FILE).read_bytes() == whole
    assert (tmp_path / JOURNAL).stat().st_size < 5000
    assert (tmp_path / JOURNAL).stat().st_mode & 0o777 == 0o600
    _, after = reopened(tmp_path)
    assert made(after) == ["c0", "c2"]
    assert after.get(CONFIG_MAP, "c2", "team") == verbs.get(CONFIG_MAP, "c2", "team")
    assert after.server.store.resource_version == verbs.server.store.resource_version


def test_a_journal_that_was_cut_anywhere_gives_its_whole_batches_and_is_gone_on_with(tmp_path: Path) -> None:
    saved(tmp_path)
    keeper, verbs = reopened(tmp_path)
    ends = []
    for number in range(3):
        verbs.create(CONFIG_MAP, {"metadata": {"name": f"c{number}"}}, "team")
        asyncio.run(keeper.save(verbs.server))
        ends.append((tmp_path / JOURNAL).stat().st_size)
    journal = (tmp_path / JOURNAL).read_bytes()

    for cut in {0, 5, *ends, *(end - 1 for end in ends), *(end + 7 for end in ends[:2])}:
        (tmp_path / JOURNAL).write_bytes(journal[:cut])
        again, after = reopened(tmp_path)
        whole = sum(cut >= end for end in ends)
        assert made(after) == [f"c{number}" for number in range(whole)], cut
        after.create(CONFIG_MAP, {"metadata": {"name": "late"}}, "team")
        asyncio.run(again.save(after.server))
        assert made(reopened(tmp_path)[1]) == [*(f"c{number}" for number in range(whole)), "late"], cut


def test_a_journal_of_another_whole_is_left_out(tmp_path: Path) -> None:
    saved(tmp_path)
    keeper, verbs = reopened(tmp_path)
    verbs.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "team")
    asyncio.run(keeper.save(verbs.server))
    old = (tmp_path / JOURNAL).read_bytes()
    verbs.delete(CONFIG_MAP, "c", "team")
    asyncio.run(Keeper(tmp_path).save(verbs.server))
    (tmp_path / JOURNAL).write_bytes(old)

    assert made(reopened(tmp_path)[1]) == []


def test_a_journal_that_grew_as_large_as_the_whole_becomes_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistence, "SMALLEST_WHOLE", 0)
    saved(tmp_path)
    keeper, verbs = reopened(tmp_path)
    size = (tmp_path / FILE).stat().st_size
    verbs.create(CONFIG_MAP, {"metadata": {"name": "c"}, "data": {"a": "x" * size}}, "team")
    asyncio.run(keeper.save(verbs.server, may_rewrite=True))
    assert (tmp_path / JOURNAL).exists()
    verbs.create(CONFIG_MAP, {"metadata": {"name": "d"}}, "team")
    asyncio.run(keeper.save(verbs.server, may_rewrite=True))

    assert not (tmp_path / JOURNAL).exists()
    assert made(reopened(tmp_path)[1]) == ["c", "d"]


def test_another_administrators_token_comes_back_too(tmp_path: Path) -> None:
    saved(tmp_path)
    keeper = Keeper(tmp_path)
    server, _ = open_server(keeper, "second-token")
    asyncio.run(keeper.save(server))

    assert reopened(tmp_path)[1].server.tokens.admin_token == "second-token"


def test_a_save_that_was_cancelled_loses_nothing(tmp_path: Path) -> None:
    saved(tmp_path)
    keeper, verbs = reopened(tmp_path)
    for number in range(3):
        verbs.create(CONFIG_MAP, {"metadata": {"name": f"c{number}"}}, "team")

    async def cancelled() -> None:
        saving = asyncio.create_task(keeper.save(verbs.server))
        await asyncio.sleep(0)
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        await keeper.save(verbs.server)

    asyncio.run(cancelled())
    assert made(reopened(tmp_path)[1]) == ["c0", "c1", "c2"]
