"""A child process: changes pods of an API server at a rate, as an ordinary client over several connections.

`python -m tests.bench.churn KUBECONFIG PODS RATE`: PODS is a file with uid, namespace and name of each; says uid and
the moments (monotonic clock, one for all processes) at which each request was sent and answered. It shares the cores
with what is measured, as the API server does: plain HTTP of the standard library, the kind of patch that costs the
server least, and of each pod only the metadata is answered.
"""

import base64
import json
import ssl
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from clusters.kinds import POD

CONNECTIONS = 32
CHANGE = json.dumps({"metadata": {"annotations": {"bench.muster.dev/changed": str(time.time())}}}).encode()

Pod = tuple[str, str, str]
Changed = tuple[str, float, float]


class Client:
    """Where a kubeconfig of one cluster leads, with its token."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.address = urlsplit(cluster["server"]).netloc
        self.tls = ssl.create_default_context(cadata=authority)
        self.headers = {
            "Authorization": f"Bearer {user['token']}",
            "Content-Type": "application/strategic-merge-patch+json",
            "Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }

    def connected(self) -> HTTPSConnection:
        connection = HTTPSConnection(self.address, context=self.tls)
        connection.connect()
        return connection

    def change(self, connection: HTTPSConnection, namespace: str, name: str) -> None:
        connection.request("PATCH", f"{POD.path(namespace, name)}?fieldValidation=Ignore", CHANGE, self.headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text


def change(client: Client, pods: list[Pod], rate: float) -> list[Changed]:
    """Patch an annotation of every pod, each when its turn comes; uid and the moments of each request."""
    connections = [client.connected() for _ in range(CONNECTIONS)]  # not counted
    began = time.monotonic()
    turns = iter([(began + number / rate, *pod) for number, pod in enumerate(pods)])
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        done = threads.map(lambda connection: list(_changed(client, connection, turns)), connections)
        return sorted((each for part in done for each in part), key=lambda each: each[1])


def _changed(
    client: Client, connection: HTTPSConnection, turns: Iterator[tuple[float, str, str, str]]
) -> Iterator[Changed]:
    for due, uid, namespace, name in turns:
        time.sleep(max(0.0, due - time.monotonic()))
        sent = time.monotonic()
        client.change(connection, namespace, name)
        yield uid, sent, time.monotonic()


if __name__ == "__main__":
    pods = json.loads(Path(sys.argv[2]).read_text())
    print(json.dumps({"changed": change(Client(Path(sys.argv[1])), pods, float(sys.argv[3]))}))
