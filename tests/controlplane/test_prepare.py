"""What `up` refuses to start with, each in one sentence that says what to do."""

import os
import socket

import pytest

from accounts.models import User
from accounts.permissions import has_right
from controlplane import prepare
from controlplane.prepare import CannotStart


def test_a_second_up_on_the_same_directory_is_refused_naming_the_first(tmp_path):
    lock = prepare.claim_data_dir(tmp_path)

    with pytest.raises(CannotStart, match=rf"Another `up` \(process {os.getpid()}\) already uses .*--data-dir"):
        prepare.claim_data_dir(tmp_path)

    lock.close()
    prepare.claim_data_dir(tmp_path).close()


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(CannotStart, match=r"file/data cannot be written: Not a directory\."):
        prepare.claim_data_dir(tmp_path / "file" / "data")


def test_a_full_disk_is_named(monkeypatch, tmp_path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, hard))
    try:
        with pytest.raises(CannotStart, match=r"has no room for data: File too large\."):
            prepare.check_space(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_named_with_the_way_out():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(CannotStart, match=rf"Port {port} on 127\.0\.0\.1 .*--port"):
            prepare.check_port("127.0.0.1", port)


def test_the_preferred_port_is_kept_while_it_is_free():
    port = prepare.free_port()
    assert prepare.free_port(port) == port

    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert prepare.free_port(port) != port


def test_the_first_administrator_gets_a_random_password_that_is_told_once(db, monkeypatch):
    monkeypatch.delenv("MUSTER_ADMIN_PASSWORD", raising=False)
    monkeypatch.delenv("MUSTER_ADMIN_EMAIL", raising=False)

    administrator, password = prepare.ensure_administrator()
    again, nothing = prepare.ensure_administrator()

    assert len(password) >= 16
    assert administrator.check_password(password)
    assert has_right(administrator, "cluster:create")
    assert (again, nothing) == (administrator, "")


def test_the_environment_names_the_first_administrator_and_its_password_is_not_told(db, monkeypatch):
    monkeypatch.setenv("MUSTER_ADMIN_EMAIL", "Root@Example.org")
    monkeypatch.setenv("MUSTER_ADMIN_PASSWORD", "from the environment")

    administrator, told = prepare.ensure_administrator()

    assert (administrator.email, told) == ("root@example.org", "")
    assert User.objects.get().check_password("from the environment")
