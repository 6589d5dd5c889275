"""What the README tells people to type."""

import os
import subprocess
from pathlib import Path

from tests.stack.installation import ROOT


def kubectl_lines() -> list[str]:
    """Its lines of kubectl, in order."""
    return [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("kubectl ")]


def typed(line: str, kubectl: Path, kubeconfig: Path, folder: Path) -> str:
    """What a shell answers to the line, with this kubectl on its path; `folder` is for the path."""
    folder.mkdir(exist_ok=True)
    (folder / "kubectl").unlink(missing_ok=True)
    (folder / "kubectl").symlink_to(kubectl)
    surroundings = {"PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(
        ["bash", "-ec", line], cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
