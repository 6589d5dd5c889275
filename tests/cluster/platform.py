"""What makes a GPU platform of a bare API server: CRDs, a fleet of KWOK's nodes, the actors, Muster's account."""

import asyncio
import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from clusters.kinds import CUSTOM_RESOURCE_DEFINITION, NODE, POD, SERVICE
from clusters.rbac import ACCOUNT, NAMESPACE, rbac_manifest
from simulator.actors.http import HttpClient
from simulator.actors.options import PLATFORM, ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.kubeconfig import write_kubeconfig
from simulator.client import KubeError, Object
from simulator.fleets.load import FLEETS, complete
from simulator.fleets.platform import Entry
from tests.cluster.conversion import converted
from tests.cluster.running import CONTROLLERS, RealCluster

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "simulator" / "api" / "crds"
UPSTREAM = ROOT.parent / "shared" / "reference" / "crds"
MANAGED = "kwok.x-k8s.io/node"
ACTORS = (PLATFORM - {"kubelet", "nodes", "exporters"}) | {"components"}
"""KWOK plays the kubelets; nothing can be asked for metrics. The platform's own Deployments have no pods."""
PLATFORM_CONTROLLERS = f"{CONTROLLERS},-deployment-controller,-replicaset-controller"
WAIT_SECONDS = 30.0
LOOK_SECONDS = 0.5


def our_crds() -> list[Object]:
    """The simulator's own CRDs, as they can be installed without an operator: one version, no conversion."""
    documents = [document for path in sorted(OURS.glob("*.yaml")) for document in _documents(path)]
    return [_without_conversion(document) for document in documents]


def upstream_crds() -> list[Object]:
    """KAI's and Grove's own CRDs, where they are at hand."""
    return [document for path in sorted(UPSTREAM.glob("*/*.yaml")) for document in _documents(path)]


def platform_crds(conversion_port: int, authority: str) -> list[Object]:
    """The upstream CRDs where they are at hand, ours for the rest; what is converted is so by `conversion`."""
    ours = [document for path in sorted(OURS.glob("*.yaml")) for document in _documents(path)]
    found = {crd["metadata"]["name"]: crd for crd in (*ours, *upstream_crds())}
    return [converted(crd, conversion_port, authority) for crd in found.values()]


def _documents(path: Path) -> list[Object]:
    return [one for one in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if one]


def _without_conversion(crd: Object) -> Object:
    spec = crd["spec"]
    if "conversion" not in spec:
        return crd
    kept = {key: value for key, value in spec.items() if key != "conversion"}
    return crd | {"spec": kept | {"versions": [version for version in spec["versions"] if version["storage"]]}}


async def install(client: HttpClient, crds: list[Object]) -> None:
    """Apply CRDs and wait until all of them are served. Raises TimeoutError."""
    for crd in crds:
        await client.apply(CUSTOM_RESOURCE_DEFINITION, crd, field_manager="tests", force=True)
    names = {crd["metadata"]["name"] for crd in crds}
    async with asyncio.timeout(WAIT_SECONDS):
        while not names <= {
            crd["metadata"]["name"]
            for crd in (await client.list(CUSTOM_RESOURCE_DEFINITION)).items
            if _is_established(crd)
        }:
            await asyncio.sleep(0.1)


def _is_established(crd: Object) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def fleet(name: str) -> Iterator[Entry]:
    """A fleet of the simulator without what only its own kubelets can run."""
    for kind, manifest in FLEETS[name]():
        if kind is NODE:
            metadata = manifest["metadata"]
            annotations = {**(metadata.get("annotations") or {}), MANAGED: "fake"}
            yield kind, manifest | {"metadata": metadata | {"annotations": annotations}}
        elif kind is not POD and kind is not SERVICE:
            yield kind, manifest


async def load(client: HttpClient, name: str) -> None:
    """Create what is missing of a fleet."""
    for kind, manifest in fleet(name):
        body = complete(kind.kind, manifest)
        with _fine_if_there():
            await client.create(kind, body, body["metadata"].get("namespace"))


@contextlib.contextmanager
def _fine_if_there() -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        if error.code != 409:
            raise


def register_account(cluster: RealCluster) -> Path:
    """Apply what Muster prints for a cluster's administrator; the kubeconfig of the account that it makes."""
    cluster.kubectl("apply", "-f", "-", stdin=rbac_manifest())
    arguments = ("--namespace", NAMESPACE, "get", "secret", f"{ACCOUNT}-token", "--output", "json")
    secret = _eventually(
        lambda: json.loads(cluster.kubectl(*arguments)), lambda found: "token" in found.get("data", {})
    )
    token = cluster.kubectl(*arguments[:-1], "go-template={{.data.token | base64decode}}")
    assert secret["type"] == "kubernetes.io/service-account-token"
    path = cluster.directory / "muster.kubeconfig"
    write_kubeconfig(path, cluster.url, token, cluster.certificates.authority_text)
    return path


def _eventually(ask: Callable[[], Object], enough: Callable[[Object], bool]) -> Object:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        with contextlib.suppress(subprocess.CalledProcessError):
            if enough(found := ask()):
                return found
        if time.monotonic() > deadline:
            raise TimeoutError("the token of Muster's service account was not filled in")
        time.sleep(0.1)


async def furnish(cluster: RealCluster, fleet_name: str, conversion_port: int) -> None:
    """CRDs and fleet."""
    async with HttpClient.from_kubeconfig(cluster.kubeconfig) as client:
        await install(client, platform_crds(conversion_port, cluster.certificates.authority_text))
        await load(client, fleet_name)


async def act(cluster: RealCluster, stop: asyncio.Event, *, grove_backend: bool) -> None:
    """Run the actors as ordinary clients until told to stop; raises what ends them."""
    options = ActorOptions(actors=ACTORS, grove_kai_backend=grove_backend)
    async with HttpClient.from_kubeconfig(cluster.kubeconfig) as client:
        actors = asyncio.create_task(run_actors(client, None, options))
        stopped = asyncio.create_task(_look_after(cluster, stop))
        await asyncio.wait({actors, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in (actors, stopped):
            task.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        with contextlib.suppress(asyncio.CancelledError):
            await actors


async def _look_after(cluster: RealCluster, stop: asyncio.Event) -> None:
    """Keep the cluster's processes alive until told to stop."""
    while not stop.is_set():
        if dead := cluster.look_after():
            print(f"Started again: {', '.join(dead)}", flush=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_SECONDS)
