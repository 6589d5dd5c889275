"""What a machine needs before its processes start: a writable data directory, a schema, an administrator."""

import fcntl
import os
import secrets
import socket
from pathlib import Path
from typing import IO

from accounts.models import User
from accounts.services import create_first_administrator

DEFAULT_EMAIL = "admin@muster.local"
SPARE_BYTES = 16 * 1024 * 1024


class CannotStart(Exception):
    """Why `up` can't start, in one sentence that says what to do."""


def claim_data_dir(data_dir: Path) -> IO[str]:
    """The data directory's lock, held while the returned file is open. Raises `CannotStart`."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (data_dir / "up.lock").open("a+")
    except OSError as error:
        raise CannotStart(f"The data directory {data_dir} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        other = lock.read().strip() or "unknown"
        lock.close()
        raise CannotStart(
            f"Another `up` (process {other}) already uses the data directory {data_dir}: stop it, or give another "
            "one with --data-dir."
        ) from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def check_space(data_dir: Path) -> None:
    """Raise `CannotStart` unless some megabytes can be written."""
    probe = data_dir / "space-probe"
    try:
        with probe.open("wb") as file:
            for _ in range(SPARE_BYTES // (1024 * 1024)):
                file.write(b"\0" * 1024 * 1024)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CannotStart(f"The data directory {data_dir} has no room for data: {error.strerror}.") from error
    finally:
        probe.unlink(missing_ok=True)


def check_port(host: str, port: int) -> None:
    """Raise `CannotStart` unless the port can be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} on {host} cannot be used ({error.strerror}): stop what listens there, or give another "
                "one with --port."
            ) from error


def free_port(preferred: int = 0) -> int:
    """A port of loopback that is free now: `preferred` where it is."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CannotStart("No free port on 127.0.0.1.")


def ensure_administrator() -> tuple[User, str]:
    """The first administrator, and their password if it was made up just now (else empty).

    MUSTER_ADMIN_EMAIL and MUSTER_ADMIN_PASSWORD name them; they are read on an empty installation only.
    """
    first = User.objects.filter(access_rules__scope_type="tenant").order_by("created_at").first()
    if first is not None:
        return first, ""
    given = os.environ.get("MUSTER_ADMIN_PASSWORD", "")
    password = given or secrets.token_urlsafe(12)
    email = os.environ.get("MUSTER_ADMIN_EMAIL", "") or DEFAULT_EMAIL
    return create_first_administrator(email, password), "" if given else password
