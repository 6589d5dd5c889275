"""`make run` on a machine that lacks something: one sentence that says what, and nothing half done stays."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Plays Python: `version`, `venv` and `make` say with what status it answers what the Makefile asks it.
PYTHON = """\
#!/bin/sh
case "$*" in
  *version_info*) exit {version} ;;
  *"import venv"*) exit {venv} ;;
  *"-m venv"*) mkdir -p .venv/bin && touch .venv/bin/python; exit {make} ;;
  -V) echo Python 3.9.2 ;;
esac
"""
DISK = """\
#!/bin/sh
echo Filesystem 1048576-blocks Used Available Capacity Mounted on
echo /dev/full {used} {used} {free} 99% /
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if shutil.which("make") is None:
        pytest.skip("missing: make")
    for name in ("Makefile", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def said(clone: Path, *arguments: str, path: str = "") -> list[str]:
    """What `make run` prints before it fails, without make's own last line. Of a make that runs these tests it knows
    nothing."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = outside | {"PATH": f"{path}{os.environ['PATH']}", "LC_ALL": "C"}
    done = subprocess.run(
        ["make", "run", *arguments], cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert not (clone / ".venv").exists()
    return done.stdout.splitlines()


def python(clone: Path, **answers: int) -> str:
    given = {"version": 0, "venv": 0, "make": 0} | answers
    return f"PYTHON={program(clone / 'a-python', PYTHON.format(**given))}"


def test_a_python_that_is_not_there(clone: Path) -> None:
    assert said(clone, "PYTHON=/nowhere/python3") == [
        "Muster needs Python 3.11 or newer: install it, or say which one with PYTHON=/path/to/python3."
    ]


def test_a_python_that_is_too_old(clone: Path) -> None:
    given = python(clone, version=1)

    assert said(clone, given) == [
        f"Muster needs Python 3.11 or newer; {given.removeprefix('PYTHON=')} is Python 3.9.2. "
        "Say which one with PYTHON=/path/to/python3."
    ]


def test_a_python_without_venv(clone: Path) -> None:
    assert said(clone, python(clone, venv=1)) == [
        "Python's venv module is missing: install it (Debian and Ubuntu: apt install python3-venv)."
    ]


def test_an_environment_that_cannot_be_made_leaves_nothing_half_done(clone: Path) -> None:
    assert said(clone, python(clone, make=1)) == ["The environment .venv could not be made here, for the reason above."]


def test_a_full_disk(clone: Path) -> None:
    program(clone / "df", DISK.format(used=1000, free=12))

    assert said(clone, python(clone), path=f"{clone}:") == [
        f"The disk of {clone} is full: Muster's packages need 400 MB."
    ]
