from decimal import Decimal as D
from pathlib import Path

import pytest
import yaml

from organizations.manifests import (
    Bounds,
    QueueSpec,
    SecretSpec,
    namespace_manifest,
    queue_manifest,
    released_namespace_manifest,
    secret_manifest,
)
from tests.topology.crds import check_against_crd

GOLDEN = Path(__file__).parent / "manifests"
FREE = Bounds(D(-1), D(-1), D(1))
CASES = {
    "queue-department": queue_manifest(
        QueueSpec("research", "organizations.Department.1", "default", "", Bounds(D(32), D(-1), D(1)), FREE, FREE)
    ),
    "queue-project-on-a-pool": queue_manifest(
        QueueSpec(
            "assistant-h200",
            "organizations.Project.7",
            "h200",
            "research-h200",
            Bounds(D("0.3"), D(0), D(0)),
            Bounds(D(288000), D(-1), D(1)),
            Bounds(D("1048.576"), D(-1), D(1)),
            priority=120,
        )
    ),
    "namespace": namespace_manifest("runai-assistant", "organizations.Project.7", "assistant", adopted=False),
    "namespace-adopted": namespace_manifest("team-a", "organizations.Project.7", "assistant", adopted=True),
    "namespace-released": released_namespace_manifest("team-a", "0b1c2d3e"),
    "secret": secret_manifest(
        SecretSpec(
            "hf-token-secret",
            "runai-assistant",
            "organizations.Project.7",
            "hf-token-secret",
            "Opaque",
            {"HF_TOKEN": "hf_abc", "token": "hf_abc"},
        )
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_manifest_is_the_golden_one(name: str) -> None:
    assert CASES[name] == yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == set(CASES)


def test_secrets_do_not_show_in_representations() -> None:
    spec = SecretSpec("a", "b", "c", "d", "Opaque", {"k": "geheim"})

    assert "geheim" not in repr(spec)


@pytest.mark.parametrize("name", ["queue-department", "queue-project-on-a-pool"])
def test_the_published_crd_accepts_what_we_write(name: str) -> None:
    check_against_crd("scheduling.run.ai", "queues", CASES[name])
