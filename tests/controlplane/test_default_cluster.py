"""The default cluster is found again where its process listens after it was started anew."""

from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from clusters.models import Cluster
from controlplane.simulated import DefaultCluster, Whereabouts
from simulator.api.certificates import ensure_certificates
from simulator.api.kubeconfig import write_kubeconfig


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


@pytest.fixture
def started(kubeconfig: Path, admin: User) -> Whereabouts:
    listen(kubeconfig, 39775)
    default = DefaultCluster("simulated", [], kubeconfig, lambda: True)
    found = Whereabouts(default, admin)
    found.register()
    return found


def listen(kubeconfig: Path, port: int) -> None:
    authority = ensure_certificates(kubeconfig.parent / "pki", "127.0.0.1").authority_text
    write_kubeconfig(kubeconfig, f"https://127.0.0.1:{port}", "a-token", authority)


def server() -> str:
    return Cluster.objects.get(name="simulated").server


def test_a_cluster_that_listens_elsewhere_after_its_process_died_is_found(
    started: Whereabouts, kubeconfig: Path
) -> None:
    assert server() == "https://127.0.0.1:39775"

    listen(kubeconfig, 45112)
    started.follow()

    assert server() == "https://127.0.0.1:45112"


def test_a_kubeconfig_that_is_half_written_is_read_again(started: Whereabouts, kubeconfig: Path) -> None:
    kubeconfig.write_text("apiVersion: v1\nkind: Config\n")
    started.follow()
    kubeconfig.unlink()
    started.follow()
    assert server() == "https://127.0.0.1:39775"

    listen(kubeconfig, 45112)
    started.follow()

    assert server() == "https://127.0.0.1:45112"


def test_nothing_is_asked_or_written_while_the_cluster_stays(
    started: Whereabouts, kubeconfig: Path, django_assert_num_queries: Any
) -> None:
    listen(kubeconfig, 39775)
    started.follow()
    before = Cluster.objects.get(name="simulated").generation

    with django_assert_num_queries(0):
        started.follow()

    assert Cluster.objects.get(name="simulated").generation == before


def test_a_cluster_that_somebody_removed_is_not_made_anew(started: Whereabouts, kubeconfig: Path) -> None:
    Cluster.objects.all().delete()
    listen(kubeconfig, 45112)

    started.follow()

    assert not Cluster.objects.exists()
