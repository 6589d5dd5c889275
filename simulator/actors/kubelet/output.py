"""Container output: what starting pods print, and a line from time to time from those that serve."""

import asyncio
from typing import Protocol

from clusters.kinds import POD
from clusters.operators.objects import Key, has_condition, key_of, labels_of, spec_of
from simulator.actors.context import Context
from simulator.actors.exporters.load import gpus_of, load_of
from simulator.actors.kubelet.logs import COMPONENT_TYPE, busy_line, ready_line, start_lines
from simulator.client import Object

PERIOD_S = 10.0
SPEAKERS = 200
"""At most so many pods go on printing: enough for a small fleet, nothing to notice in a large one."""


class Logs(Protocol):
    """Where container output goes (`simulator.api.hooks.PodLogs`)."""

    def append(self, namespace: str, pod: str, container: str, line: str) -> None: ...

    def clear(self, namespace: str, pod: str) -> None: ...


class Output:
    """Without a place for logs (`logs` None: actors beside a real API server) nothing is printed."""

    def __init__(self, context: Context, logs: Logs | None) -> None:
        self._context = context
        self._logs = logs
        self._speakers: dict[Key, None] = {}

    def start(self, pod: Object) -> None:
        """The lines of a starting pod, and the kubelet's events about its containers."""
        for container in spec_of(pod)["containers"]:
            image, name = container.get("image", ""), container["name"]
            self._event(pod, "Pulled", f'Container image "{image}" already present on machine')
            self._event(pod, "Created", f"Container created: {name}")
            self._event(pod, "Started", f"Container started: {name}")
        self._print_start(pod)

    def _print_start(self, pod: Object) -> None:
        namespace, name = key_of(pod)
        for container, line in start_lines(pod, self._context.timestamp()):
            self._append(namespace, name, container, line)

    def ready(self, pod: Object) -> None:
        namespace, name = key_of(pod)
        self._append(namespace, name, _main(pod), ready_line(pod, self._context.timestamp()))
        self._listen_to(pod)

    def crash(self, pod: Object, line: str) -> None:
        namespace, name = key_of(pod)
        self._append(namespace, name, "main", line)
        text = f"Back-off restarting failed container main in pod {name}_{namespace}({pod['metadata']['uid']})"
        self._event(pod, "BackOff", text, "Warning")

    def forget(self, key: Key) -> None:
        self._speakers.pop(key, None)
        if self._logs is not None:
            self._logs.clear(*key)

    async def run(self) -> None:
        pods = self._context.informers.of(POD)
        await pods.synced.wait()
        for pod in pods.values():
            if has_condition(pod, "Ready") and len(self._speakers) < SPEAKERS:
                self._print_start(pod)
                self.ready(pod)
        while True:
            await asyncio.sleep(PERIOD_S)
            for key in list(self._speakers):
                found = pods.get(key)
                if found is not None and has_condition(found, "Ready"):
                    self._speak(found)

    def _speak(self, pod: Object) -> None:
        now = self._context.now().timestamp()
        seed = self._context.options.seed
        load = load_of(pod, 0, now, seed=seed, memory_mib=1, ready_for_s=PERIOD_S * 10)
        line = busy_line(pod, self._context.timestamp(), load.engine)
        self._append(*key_of(pod), _main(pod), line)

    def _listen_to(self, pod: Object) -> None:
        serves = gpus_of(pod) or labels_of(pod).get(COMPONENT_TYPE) == "frontend"
        if serves and len(self._speakers) < SPEAKERS:
            self._speakers[key_of(pod)] = None

    def _event(self, pod: Object, reason: str, message: str, event_type: str = "Normal") -> None:
        self._context.events.record((POD, pod), reason, message, component="kubelet", event_type=event_type)

    def _append(self, namespace: str, pod: str, container: str, line: str) -> None:
        if self._logs is not None:
            self._logs.append(namespace, pod, container, line)


def _main(pod: Object) -> str:
    return str(spec_of(pod)["containers"][0]["name"])
