"""A child process: the simulator's API half on loopback with the first nodes of the large fleet and their pods.

`python -m tests.bench.cluster NODES DIRECTORY` writes `DIRECTORY/kubeconfig` and says where it listens.
"""

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from clusters.kinds import NODE, POD
from simulator.api.certificates import ensure_certificates
from simulator.api.inprocess import InProcessClient
from simulator.api.kubeconfig import write_kubeconfig
from simulator.api.running import Address, RunningServer, open_server
from simulator.fleets.large import large
from simulator.fleets.load import FLEETS, restore_fleet
from simulator.fleets.platform import Entry
from tests.bench.served import as_served

HOST = "127.0.0.1"


def first_nodes(count: int) -> Iterator[Entry]:
    """The large fleet up to its `count`-th node."""
    seen = 0
    for kind, manifest in large():
        seen += kind is NODE
        if seen > count:
            return
        yield kind, as_served(manifest) if kind is POD else manifest


async def serve(nodes: int, directory: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    certificates = ensure_certificates(directory / "pki", HOST)
    server, _restored = open_server(None, "", certificates.authority_text)
    running = RunningServer(server, [Address(HOST, 0), Address(HOST, 0, certificates)])
    await running.start()
    FLEETS["bench"] = partial(first_nodes, nodes)
    client = InProcessClient(server)
    for kind, manifest in restore_fleet(server.store, "bench"):
        await client.create(kind, manifest, manifest["metadata"].get("namespace"))
    gc.collect()
    gc.freeze()
    plain, secure = (listener.address.url for listener in running.listeners)
    write_kubeconfig(directory / "kubeconfig", secure, server.tokens.admin_token, certificates.authority_text)
    print(json.dumps({"plain": plain, "secure": secure, "token": server.tokens.admin_token}), flush=True)
    await stop.wait()
    await running.stop()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
