"""The simulated cluster as an administrator sees it, over HTTP; and its switchboard of faults."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PATHS = {
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "topologies": "/apis/kai.scheduler/v1alpha1/topologies",
    "bindings": "/apis/grove.io/v1alpha1/clustertopologybindings",
    "shards": "/apis/kai.scheduler/v1/schedulingshards",
    "queues": "/apis/scheduling.run.ai/v2/queues",
    "graphs": "/apis/nvidia.com/v1beta1/dynamographdeployments",
    "cliquesets": "/apis/grove.io/v1alpha1/podcliquesets",
    "cliques": "/apis/grove.io/v1alpha1/podcliques",
    "podgroups": "/apis/scheduling.run.ai/v2alpha2/podgroups",
}


@dataclass
class SimulatedCluster:
    """`kubeconfig` is read anew with every call: a restarted API server may have another one."""

    kubeconfig: Path

    def objects(self, what: str) -> list[dict[str, Any]]:
        """All objects of a kind of `PATHS`."""
        return list(self._call("GET", PATHS[what])["items"])

    def switch_on(self, fault: str, **parameters: Any) -> None:
        """Switch on a fault of docs/simulator.md."""
        self._call("PUT", f"/simulator/faults/{fault}", parameters)

    def clear(self) -> None:
        """Switch off every fault that is on."""
        self._call("DELETE", "/simulator/faults")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        config = yaml.safe_load(self.kubeconfig.read_text())
        where, who = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(where["certificate-authority-data"]).decode()
        request = urllib.request.Request(
            where["server"] + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {who['token']}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(
            request, timeout=20, context=ssl.create_default_context(cadata=authority)
        ) as answer:
            return json.loads(answer.read() or b"{}")
