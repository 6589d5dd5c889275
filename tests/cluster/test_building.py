"""Without a Go that is new enough `make cluster` says in one sentence what to install."""

from pathlib import Path

import pytest

from tests.cluster import binaries

SAYS_WHAT_TO_INSTALL = r"^The real cluster is built with Go 1\.26 or newer: install it \(https://go\.dev/dl, .*\.$"


def put_go(folder: Path, version: str) -> None:
    go = folder / "go"
    go.write_text(f"#!/bin/sh\necho {version}\n")
    go.chmod(0o755)


def test_no_go_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(binaries.CannotBuild, match=SAYS_WHAT_TO_INSTALL):
        binaries.find_go()


@pytest.mark.parametrize("version", ["go1.25.9", "devel"])
def test_a_go_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    put_go(tmp_path, version)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(binaries.CannotBuild, match=rf"^The real cluster is built with .* Found: {version}\.$"):
        binaries.find_go()


def test_a_new_go_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_go(tmp_path, "go1.26.0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert binaries.find_go() == str(tmp_path / "go")
