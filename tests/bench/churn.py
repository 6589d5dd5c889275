"""A child process: changes pods of an API server at a rate, one after another, as an ordinary client.

`python -m tests.bench.churn KUBECONFIG PODS RATE`: PODS is a file with uid, namespace and name of each; says uid and
the moments (monotonic clock, one for all processes) at which each request was sent and answered.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from clusters.kinds import POD
from simulator.actors.http import HttpClient

TICK = 0.01
NOTE = "bench.muster.dev/changed"

Pod = tuple[str, str, str]


async def change(client: HttpClient, pods: list[Pod], rate: float) -> list[tuple[str, float, float]]:
    """Patch an annotation of every pod; uid and the moments of each request."""
    began, done, changed = time.monotonic(), 0, list[tuple[str, float, float]]()

    async def one(uid: str, namespace: str, name: str) -> None:
        sent = time.monotonic()
        await client.patch(POD, name, namespace, {"metadata": {"annotations": {NOTE: "yes"}}})
        changed.append((uid, sent, time.monotonic()))

    async with asyncio.TaskGroup() as group:
        while done < len(pods):
            due = min(len(pods), int((time.monotonic() - began) * rate))
            for pod in pods[done:due]:
                group.create_task(one(*pod))
            done = due
            await asyncio.sleep(TICK)
    return sorted(changed, key=lambda each: each[1])


async def main(kubeconfig: Path, pods: list[Pod], rate: float) -> None:
    async with HttpClient.from_kubeconfig(kubeconfig) as client:
        await client.get(POD, pods[0][2], pods[0][1])  # connects; not counted
        print(json.dumps({"changed": await change(client, pods, rate)}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), float(sys.argv[3])))
