"""An installation whose default cluster is the real one, asked with a kubectl of the server's own version."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import binaries
from tests.stack.installation import Muster


@dataclass
class RealMuster(Muster):
    """`manage.py up --cluster real`."""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's; Muster itself uses its service account's."""
        return self.data_dir / "cluster" / "kubeconfig"

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        done = subprocess.run(
            [str(binaries.KUBECTL.path), "--kubeconfig", str(self.kubeconfig), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else done.stderr
