"""Runs the actors against any API server: `python -m simulator.actors --kubeconfig PATH`."""

import argparse
import asyncio
import contextlib
import logging
from pathlib import Path

from simulator.actors.http import HttpClient
from simulator.actors.options import ALL_ACTORS, PLATFORM, ActorOptions
from simulator.actors.runner import run_actors


async def _run(kubeconfig: Path, options: ActorOptions) -> None:
    async with HttpClient.from_kubeconfig(kubeconfig) as client:
        await run_actors(client, None, options)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simulator.actors", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=sorted(ALL_ACTORS), default=sorted(PLATFORM))
    parser.add_argument("--grove-kai-backend", action="store_true", help="Grove makes the PodGroups itself")
    parser.add_argument("--log-level", default="INFO")
    arguments = parser.parse_args()
    logging.basicConfig(level=arguments.log_level, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    options = ActorOptions(actors=frozenset(arguments.only), grove_kai_backend=arguments.grove_kai_backend)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(arguments.kubeconfig, options))


if __name__ == "__main__":
    main()
