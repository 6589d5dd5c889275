"""Starts the actors of a cluster and keeps them going until cancelled."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from typing import Any, Protocol

from scheduling.structs import Resources
from simulator.actors.components import ComponentDeployments
from simulator.actors.context import Context
from simulator.actors.dynamo.controller import GraphController
from simulator.actors.endpoints import EndpointSlices
from simulator.actors.event_expiry import EventExpiry
from simulator.actors.exporters.proxies import Exporters
from simulator.actors.grove.podclique import PodCliqueController
from simulator.actors.grove.podcliqueset import PodCliqueSetController
from simulator.actors.grove.scaling_group import ScalingGroupController
from simulator.actors.grove.topology_binding import TopologyBindingController
from simulator.actors.kubelet.nodes import NodeLifecycle
from simulator.actors.kubelet.output import Output
from simulator.actors.kubelet.pods import PodLifecycle
from simulator.actors.options import ActorOptions
from simulator.actors.podgrouper.controller import PodGrouper
from simulator.actors.scheduler.accounts import PodGroupAccounts, QueueAccounts, ShardStatus
from simulator.actors.scheduler.loop import Scheduler
from simulator.client import KubeClient
from simulator.faults import Faults

log = logging.getLogger(__name__)


class Hooks(Protocol):
    """What the API server's process offers beside the API (`simulator.api.hooks.ServerHooks`)."""

    faults: Faults
    logs: Any
    proxies: MutableMapping[Any, Any]


async def run_actors(client: KubeClient, hooks: Hooks | None, options: ActorOptions) -> None:
    """Runs all actors that `options.actors` names; without `hooks` there are no logs, proxies and faults."""
    context = Context(client, options, hooks.faults if hooks else None)
    running = _actors(context, hooks)
    async with asyncio.TaskGroup() as group:
        for name, run in running:
            group.create_task(run(), name=name)
        group.create_task(context.events.run(), name="events")
        group.create_task(context.informers.run(), name="informers")
        group.create_task(context.informers.settle(), name="settle")


def _actors(context: Context, hooks: Hooks | None) -> list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]]:
    wanted = context.options.actors
    controllers: dict[str, list[Any]] = {
        "dynamo": [GraphController],
        "grove": [
            PodCliqueSetController,
            ScalingGroupController,
            PodCliqueController,
            TopologyBindingController,
        ],
        "podgrouper": [PodGrouper],
        "scheduler": [ShardStatus],
        "queues": [PodGroupAccounts, QueueAccounts],
        "nodes": [NodeLifecycle],
        "components": [ComponentDeployments],
        "endpoints": [EndpointSlices],
        "event-expiry": [EventExpiry],
    }
    running = [
        (kind.__name__, kind(context).run) for name, kinds in controllers.items() if name in wanted for kind in kinds
    ]
    shares: Mapping[str, Mapping[str, Resources]] = {}
    if "scheduler" in wanted:
        scheduler = Scheduler(context)
        shares = scheduler.fair_share
        running.append(("Scheduler", scheduler.run))
    if "exporters" in wanted and hooks is not None:
        running.append(("Exporters", Exporters(context, hooks.proxies, shares).run))
    if "kubelet" in wanted:
        output = Output(context, hooks.logs if hooks else None)
        running.append(("PodLifecycle", PodLifecycle(context, output).run))
        running.append(("Output", output.run))
    return running
