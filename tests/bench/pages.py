"""A child process: what each page costs the server on this database: SQL statements, CPU, bytes, elements.

`python -m tests.bench.pages`
"""

import json
import re
from time import process_time

from tests.bench import product  # the first of all: it sets Django up

from django.test import Client  # isort: skip
from django.test.utils import setup_test_environment  # isort: skip
from django.urls import reverse  # isort: skip

from accounts.models import User  # isort: skip
from clusters.models import Node  # isort: skip
from tests.bench.measuring import median  # isort: skip

ROUNDS = 5
_ELEMENT = re.compile(rb"<[a-z]")


def addresses() -> dict[str, str]:
    """The pages whose content grows with a cluster."""
    node = Node.objects.order_by("name")[0]
    return {
        "overview": reverse("overview"),
        "clusters": reverse("clusters:cluster-list"),
        "cluster": reverse("clusters:cluster-detail", args=[node.cluster_id]),
        "nodes": reverse("clusters:node-list"),
        "nodes, freest first": reverse("clusters:node-list") + "?sort=-free",
        "GPU map": reverse("clusters:node-map"),
        "GPU map's data": reverse("clusters:node-map-data"),
        "node": reverse("clusters:node-detail", args=[node.pk]),
        "node pools": reverse("topology:node-pool-list"),
        "network topologies": reverse("topology:topology-list"),
        "new network topology": reverse("topology:topology-new"),
        "departments": reverse("organizations:department-list"),
        "projects": reverse("organizations:project-list"),
        "workloads": reverse("workloads:list"),
        "GPU utilisation": reverse("metrics:gpu-utilisation"),
        "nodes by REST": "/api/v1/nodes",
    }


def main() -> None:
    setup_test_environment()
    client = Client(headers={"Accept-Encoding": "gzip"})
    client.force_login(User.objects.order_by("pk")[0])
    statements = product.Statements()
    said = {}
    for name, address in addresses().items():
        for _ in range(2):
            client.get(address)
        statements.take()
        answer = client.get(address)
        counts = statements.take()
        used = []
        for _ in range(ROUNDS):
            before = process_time()
            client.get(address)
            used.append(process_time() - before)
        content = answer.content
        said[name] = {
            "status": answer.status_code,
            "sql": counts["all"],
            "cpu": median(used),
            "bytes": len(content),
            "elements": len(_ELEMENT.findall(content)) if b"<html" in content else 0,
        }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
