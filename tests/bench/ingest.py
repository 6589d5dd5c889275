"""A child process: lists all pods into the database as the watcher does; says what that cost.

`python -m tests.bench.ingest KUBECONFIG first`: into an empty database. `aged`: every hundredth row is older than its
object. `again`: nothing changed. A fourth argument is the address to read from instead, without TLS.
"""

import json
import sys
from pathlib import Path
from time import process_time

from tests.bench import product  # the first of all: it sets Django up

from clusters.models import Pod  # isort: skip
from tests.bench.measuring import memory  # isort: skip


def main(kubeconfig: Path, how: str, server: str = "") -> None:
    cluster = product.prepare_database(kubeconfig) if how == "first" else product.the_cluster()
    cluster.server = server or cluster.server
    aged = Pod.objects.extra(where=["id %% 100 = 0"]).update(resource_version="1") if how == "aged" else 0
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    resident, before = memory("VmRSS"), process_time()
    watch = product.start_watch(cluster, product.observed("pods"))
    changed = product.sync(watch)
    used, peak = process_time() - before, memory("VmHWM")
    known = watch.streams[0].pending.known
    index = sys.getsizeof(known) + sum(sys.getsizeof(uid) + sys.getsizeof(version) for uid, version in known.items())
    watch.stop()
    said = {"cpu": used, "above": peak - resident, "index": index, "changed": changed, "aged": aged}
    print(json.dumps(said | {"rows": Pod.objects.count()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
