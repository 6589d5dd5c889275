"""A child process: a real etcd and API server with the first nodes of the large fleet and their pods, played by KWOK.

`python -m tests.bench.real_fleet NODES DIRECTORY` says when all pods run: how many, how long it took, what memory the
server's processes hold. Nodes keep no leases and no controller looks after them: nothing changes then by itself. KWOK
and the controller manager end then: only etcd and the API server share the machine with what is measured.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clusters.kinds import NODE, POD, Kind
from simulator.actors.http import HttpClient
from simulator.client import KubeError, Object
from simulator.fleets.load import complete
from tests.bench.cluster import first_nodes
from tests.cluster import platform
from tests.cluster.running import CONTROLLERS, RealCluster

AT_ONCE = 24
LOOK_SECONDS = 1.0
RUNNING_SECONDS = 1200.0
NOT_RUNNING = "/api/v1/pods?limit=1&fieldSelector=status.phase!=Running"
LESS_COLLECTING = {"GOGC": "200"}
"""Of garbage, by the API server, which shares two cores with what is measured: for half as much memory again."""
CONTROLLED = f"{CONTROLLERS},-node-lifecycle-controller,-deployment-controller,-replicaset-controller"


async def serve(nodes: int, directory: Path) -> None:
    began = time.monotonic()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    cluster = RealCluster(directory, controllers=CONTROLLED, lease_seconds=0, api_variables=LESS_COLLECTING)
    try:
        cluster.start_servers()
        async with HttpClient.from_kubeconfig(cluster.kubeconfig) as client:
            await platform.install(client, platform.our_crds())
            cluster.start_controllers()
            pods = await fill(client, nodes)
            await asyncio.to_thread(await_running, cluster)
        seconds, memory = time.monotonic() - began, cluster.memory()
        for name in ("kwok", "kube-controller-manager"):  # on other machines elsewhere, and nothing is left for them
            await asyncio.to_thread(cluster.end, name)
        print(json.dumps({"pods": pods, "seconds": seconds, "memory": memory, **where(cluster)}), flush=True)
        await stop.wait()
    finally:
        await asyncio.to_thread(cluster.stop)


def where(cluster: RealCluster) -> dict[str, str]:
    """How it is reached, and the log of what was asked."""
    return {
        "secure": cluster.url,
        "token": cluster.token,
        "authority": str(cluster.certificates.authority),
        "audit": str(cluster.audit_log),
    }


async def fill(client: HttpClient, nodes: int) -> int:
    """Whatever pods need first, then the pods, many at once; how many pods."""
    entries = list(bare(nodes))
    for first in (False, True):
        queue = asyncio.Queue[tuple[Kind, Object]]()
        for kind, manifest in entries:
            if (kind is POD) is first:
                queue.put_nowait((kind, manifest))
        await asyncio.gather(*(_create(client, queue) for _ in range(AT_ONCE)))
    return sum(kind is POD for kind, _ in entries)


async def _create(client: HttpClient, queue: "asyncio.Queue[tuple[Kind, Object]]") -> None:
    while not queue.empty():
        kind, manifest = queue.get_nowait()
        body = complete(kind.kind, manifest)
        for attempt in range(50):
            try:
                await client.create(kind, body, body["metadata"].get("namespace"))
                break
            except KubeError as error:
                if error.code == 409:
                    break
                if error.code != 403 or attempt == 49:  # a namespace without its service account yet
                    raise
                await asyncio.sleep(0.1)


def bare(nodes: int) -> Iterator[tuple[Kind, Object]]:
    """The fleet as its makers would send it: without status and uids; nodes are KWOK's."""
    for kind, manifest in first_nodes(nodes):
        metadata: dict[str, Any] = dict(manifest["metadata"])
        for name in ("managedFields", "ownerReferences", "uid", "resourceVersion", "creationTimestamp"):
            metadata.pop(name, None)
        body = {**manifest, "metadata": metadata}
        if kind is NODE:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), platform.MANAGED: "fake"}
        elif kind is POD:
            body.pop("status", None)
            computed = ("priority", "preemptionPolicy")  # by the API server
            body["spec"] = {key: value for key, value in body["spec"].items() if key not in computed}
        yield kind, body


def await_running(cluster: RealCluster) -> None:
    """Until no pod waits any more. Raises `TimeoutError` when that takes too long."""
    deadline = time.monotonic() + RUNNING_SECONDS
    while json.loads(cluster.kubectl("get", "--raw", NOT_RUNNING))["items"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not all pods run after {RUNNING_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
