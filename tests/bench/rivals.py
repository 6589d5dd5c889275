"""A child process: the floor and the official client. `floor PAGES` decodes stored pages, `official KUBECONFIG` lists
all pods in pages of 500; each says its CPU seconds without its imports."""

import json
import sys
from pathlib import Path
from time import process_time


def floor(pages: Path) -> tuple[float, int]:
    """Decode every page into structs that hold only the fields used. Reading the files is not counted."""
    import msgspec

    from clusters import wire
    from clusters.kube.client import ItemList

    decoder = msgspec.json.Decoder(ItemList[wire.PodObject])
    contents = [page.read_bytes() for page in sorted(pages.iterdir())]
    before = process_time()
    pods = sum(len(decoder.decode(content).items or ()) for content in contents)
    return process_time() - before, pods


def official(kubeconfig: Path) -> tuple[float, int]:
    from kubernetes import client, config

    config.load_kube_config(str(kubeconfig))
    api = client.CoreV1Api()
    before = process_time()
    pods, more = 0, None
    while True:
        page = api.list_pod_for_all_namespaces(limit=500, **({"_continue": more} if more else {}))
        pods += len(page.items)
        more = page.metadata._continue
        if not more:
            return process_time() - before, pods


if __name__ == "__main__":
    used, count = {"floor": floor, "official": official}[sys.argv[1]](Path(sys.argv[2]))
    print(json.dumps({"cpu": used, "pods": count}))
