"""The benchmarks run through, all but those that need the real cluster. What they find is judged by `make bench` alone,
on a machine that does nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.measuring import ROOT

STAGES = ("list", "memory", "watch", "resync", "pages", "clicks", "placing", "api", "pools")
GOALS = {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P9", "P11"}


@pytest.mark.long
def test_every_stage_measures_at_the_small_size(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    command = [sys.executable, "-m", "tests.bench", "--size", "pull-request", "--out", str(report), "--only", *STAGES]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)

    assert ended.returncode in (0, 1), ended.stderr  # 2: a stage failed
    lines = report.read_text().splitlines()
    assert {line.split(" ")[1] for line in lines if line.startswith("| P")} == GOALS
