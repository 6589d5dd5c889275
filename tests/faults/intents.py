"""Intents in numbers: made and deleted by REST, and then compared with what the database and the cluster hold.

A wave is made of intents of every kind. It expects exactly one row, one set of cluster objects and one audit row per
mutation from each of its intents, and nothing else anywhere.
"""

import http.client
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.faults.harness import Stack
from tests.stack.installation import wait_until
from tests.stack.main_job import HOST, RACK, ZONE, encoded

SETTLE_SECONDS = 240
REQUESTS_AT_ONCE = 4
TOPOLOGY, POOL, DEPARTMENT, PROJECT, WORKLOAD = "topology", "pool", "department", "project", "workload"
# Kind → API path, table, label in the audit, phase when all is well.
KINDS = {
    TOPOLOGY: ("/v1/network-topologies", "topology_networktopology", "topology.NetworkTopology", "Ready"),
    POOL: ("/v1/node-pools", "topology_nodepool", "topology.NodePool", "Ready"),
    DEPARTMENT: ("/v1/org-unit/departments", "organizations_department", "organizations.Department", "Ready"),
    PROJECT: ("/v1/org-unit/projects", "organizations_project", "organizations.Project", "Ready"),
    WORKLOAD: ("/v2/workloads", "workloads_workload", "workloads.Workload", "Running"),
}
GRAPH = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {{name: {name}}}
spec:
  backendFramework: vllm
  components:
    - name: worker
      type: worker
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0
              resources: {{limits: {{nvidia.com/gpu: "1"}}}}
"""


@dataclass(frozen=True)
class Intent:
    """One object that somebody wants."""

    kind: str
    name: str


@dataclass
class Wave:
    """Intents whose names begin with `name`, in the order in which they are made: each kind spread over the whole."""

    name: str
    topologies: int = 30
    pools: int = 1
    departments: int = 5
    projects: int = 44
    workloads: int = 30

    @property
    def intents(self) -> list[Intent]:
        numbers = {
            TOPOLOGY: self.topologies,
            POOL: self.pools,
            DEPARTMENT: self.departments,
            PROJECT: self.projects,
            WORKLOAD: self.workloads,
        }
        placed = [
            (index / number, Intent(kind, f"{self.name}-{kind}-{index}"))
            for kind, number in numbers.items()
            for index in range(number)
        ]
        return [intent for _at, intent in sorted(placed, key=lambda item: (item[0], item[1].kind))]


class Fleet:
    """What was asked of one stack so far, and what of it stands. The base is a department and a project for all."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.standing: list[Intent] = []
        self._waves: list[Wave] = []
        self.audits: Counter[tuple[str, str, str]] = Counter()
        self._pool: dict[str, Any] = stack.ask("GET", "/api/v1/node-pools").body["nodepools"][0]
        self.nodes = sorted(node["metadata"]["name"] for node in stack.cluster.objects("nodes"))
        self._foreign = {what: self._found(what) for what in ("topologies", "queues", "shards", "namespaces")}
        self._foreign["queues"].discard("default")  # Muster's own
        self._department = self._base(DEPARTMENT, "base")
        self._project = self._base(PROJECT, "shared")

    def _base(self, kind: str, name: str) -> str:
        intent = Intent(kind, name)
        self.make(intent)
        return self._ids(kind)[name]

    # Mutations.

    def make(self, intent: Intent) -> None:
        """Ask for one. A conflict is our own earlier request, whose answer was lost."""
        answer = self.stack.ask("POST", "/api" + KINDS[intent.kind][0], self._body(intent))
        assert answer.status in (201, 202, 409), (intent, answer)
        self._note("create", intent)
        self.standing.append(intent)

    def delete(self, intent: Intent, pk: str) -> None:
        """Ask for the end of one; 404 is our own earlier request, already fulfilled."""
        answer = self.stack.ask("DELETE", f"/api{KINDS[intent.kind][0]}/{pk}")
        assert answer.status in (200, 202, 204, 404), (intent, answer)
        self._note("delete", intent)
        self.standing.remove(intent)

    def begin(self) -> None:
        """Make a first wave, and wait until it stands."""
        self._change(self._next_wave(), None)
        self.settle()

    def replace_wave(self) -> float:
        """Make a new wave and delete the one that stands; returns the seconds of the slowest request."""
        return self._change(self._next_wave(), self._wave_before())

    @contextmanager
    def replacing_wave(self) -> Iterator[Callable[[], int]]:
        """The same meanwhile; gives the number of intents that were taken so far."""
        before = self.audits.total()
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(self.replace_wave)
            yield lambda: self.audits.total() - before
            done.result()

    def replace_wave_with_two_of_each_process(self) -> tuple[int, float]:
        """The same with two watchers, workers, beats and web processes at it; the intents that were in flight, and the
        seconds until all had their end."""
        with self.stack.doubled() as port:
            with self.stack.frozen("worker"), self.stack.also_at(port):
                self.replace_wave()
                in_flight = len(self.unsettled())
            return in_flight, self.settle()

    def _next_wave(self) -> Wave:
        self._waves.append(Wave(f"w{len(self._waves)}"))
        return self._waves[-1]

    def _wave_before(self) -> Wave:
        return self._waves[-2]

    def _change(self, made: Wave, gone: Wave | None) -> float:
        doomed = gone.intents if gone else []
        ids = {kind: self._ids(kind) for kind in KINDS}
        work: list[Callable[[], None]] = [
            *(lambda intent=intent: self.delete(intent, ids[intent.kind][intent.name]) for intent in doomed),
            *(lambda intent=intent: self.make(intent) for intent in made.intents),
        ]
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            return max(pool.map(_timed, work))

    def _body(self, intent: Intent) -> dict[str, Any]:
        if intent.kind == WORKLOAD:
            return {
                "metadata": {"projectId": self._project},
                "manifestBase64Encoded": encoded(GRAPH.format(name=intent.name)),
            }
        where = {"name": intent.name, "clusterId": self._pool["clusterId"]}
        quota = {"nodePool": {"id": self._pool["id"], "name": "default"}, "gpu": {"deserved": 4, "limit": -1}}
        return {
            TOPOLOGY: lambda: {**where, "levels": [ZONE, RACK, HOST]},
            POOL: lambda: {**where, "labelKey": HOST, "labelValue": self.node_of(intent)},
            DEPARTMENT: lambda: {**where, "resources": [quota]},
            PROJECT: lambda: {**where, "parentId": self._department, "resources": [quota]},
        }[intent.kind]()

    def node_of(self, pool: Intent) -> str:
        """The node that a pool takes: another one for each wave."""
        return self.nodes[sum(pool.name.encode()) % len(self.nodes)]

    def _note(self, action: str, intent: Intent) -> None:
        self.audits[(KINDS[intent.kind][2], action, intent.name)] += 1

    def _ids(self, kind: str) -> dict[str, str]:
        table = KINDS[kind][1]
        return {str(name): str(pk) for name, pk in self.stack.rows(f"SELECT name, id FROM {table}")}

    # What came of them.

    def unsettled(self) -> list[str]:
        """What is not yet as it was asked for: rows not ready, not gone, or not there."""
        wrong: list[str] = []
        for kind, (_path, table, _label, good) in KINDS.items():
            expected = {intent.name for intent in self.standing if intent.kind == kind}
            expected |= {"default"} if kind in (POOL, DEPARTMENT) else set()  # Muster's own
            query = f"SELECT name, phase, generation, observed_generation, failures FROM {table}"
            found = {name: rest for name, *rest in self.stack.rows(query)}
            wrong += [f"{kind} {name} is there" for name in found.keys() - expected]
            wrong += [f"{kind} {name} is missing" for name in expected - found.keys()]
            wrong += [
                f"{kind} {name}: {found[name]}"
                for name in expected & found.keys()
                if found[name][0] != good or found[name][1] != found[name][2] or found[name][3]
            ]
        return wrong

    def settle(self, seconds: float = SETTLE_SECONDS) -> float:
        """Wait until every intent has its end and all agrees with all; returns the seconds that it took."""
        started = time.monotonic()
        wrong: list[str] = []

        def settled() -> bool:
            try:
                wrong[:] = self.unsettled() or self.differences()
            except (OSError, http.client.HTTPException) as error:  # the cluster does not answer us either
                wrong[:] = [str(error)]
            return not wrong

        try:
            wait_until(settled, "every intent to have its end", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {len(wrong)} differ: {wrong[:12]}") from None
        took = time.monotonic() - started
        wait_until(lambda: not self.stack.leases(), "no lease to be held", 150)
        wait_until(lambda: self.stack.health() == {}, "every part to be healthy", 60)
        self.check_audit()
        return took

    def differences(self) -> list[str]:
        """Where the cluster differs from the intents, and the mirror in the database from the cluster."""
        expected, wrong = self._expected(), []
        for what, names in expected.items():
            found = self._found(what) - self._foreign.get(what, set())
            wrong += [f"{what}: {name} too many" for name in sorted(found - names)]
            wrong += [f"{what}: {name} missing" for name in sorted(names - found)]
        wrong += self._wrong_labels() + self._wrong_derived() + self._wrong_mirror()
        wrong += [
            f"{what}: {item['metadata']['name']} was written {item['metadata']['generation'] - 1} times more"
            for what in ("topologies", "queues", "graphs")
            for item in self.stack.cluster.objects(what)
            if item["metadata"]["name"] in expected[what] and item["metadata"].get("generation", 1) != 1
        ]
        return wrong

    def check_audit(self) -> None:
        """One row per mutation, whatever became of its answer; what the reconcile notes of its own acts is no wish."""
        query = "SELECT object_type, action, object_name FROM accounts_auditentry WHERE source <> 'reconcile'"
        found = Counter(row for row in self.stack.rows(query) if row[0] in {label for *_, label, _ in KINDS.values()})
        found = Counter({key: count for key, count in found.items() if key[2] != "default"})
        assert found == self.audits, ((found - self.audits), (self.audits - found))

    def _expected(self) -> dict[str, set[str]]:
        names = {kind: {i.name for i in self.standing if i.kind == kind} for kind in KINDS}
        owners = names[DEPARTMENT] | names[PROJECT] | {"default"}
        return {
            "topologies": names[TOPOLOGY],
            "bindings": names[TOPOLOGY],
            "shards": names[POOL],
            "queues": owners | {f"{owner}-{pool}" for owner in owners for pool in names[POOL]},
            "namespaces": {f"runai-{project}" for project in names[PROJECT]},
            "graphs": names[WORKLOAD],
            "cliquesets": names[WORKLOAD],
        }

    def _wrong_labels(self) -> list[str]:
        wanted = {self.node_of(intent): intent.name for intent in self.standing if intent.kind == POOL}
        nodes = self.stack.cluster.objects("nodes")
        found = {n["metadata"]["name"]: n["metadata"]["labels"].get("kai.scheduler/node-pool") for n in nodes}
        return [f"node {name}: {pool}" for name, pool in found.items() if pool != wanted.get(name)]

    def _wrong_derived(self) -> list[str]:
        """One running pod, one clique and one pod group per graph; none of a graph that is gone."""
        graphs = Counter({intent.name: 1 for intent in self.standing if intent.kind == WORKLOAD})
        label = "nvidia.com/dynamo-graph-deployment-name"
        pods = Counter(pod["metadata"]["labels"].get(label, "?") for pod in self._live("pods"))
        wrong = [f"pods of {name}: {pods[name]}" for name in (pods - graphs) + (graphs - pods)]
        for what in ("cliques", "podgroups"):
            count = len(self.stack.cluster.objects(what))
            wrong += [f"{what}: {count} for {len(graphs)} graphs"] if count != len(graphs) else []
        return wrong

    def _wrong_mirror(self) -> list[str]:
        """The observed tables hold what the cluster holds, by uid."""
        pods = self.stack.rows("SELECT uid FROM clusters_pod WHERE namespace LIKE 'runai-%'")
        stored = {("pods", uid) for (uid,) in pods}
        stored |= set(self.stack.rows("SELECT plural, uid FROM clusters_clusterobject"))
        kinds = {"pods": "pods", "queues": "queues", "topologies": "topologies", "podgroups": "podgroups"}
        kinds |= {"graphs": "dynamographdeployments"}
        wrong = []
        for what, plural in kinds.items():
            live = {item["metadata"]["uid"] for item in self._live(what)}
            mirrored = {uid for kind, uid in stored if kind == plural}
            wrong += [f"mirror of {what}: {len(mirrored - live)} ghosts, {len(live - mirrored)} missing"] * (
                live != mirrored
            )
        return wrong

    def _live(self, what: str) -> list[dict[str, Any]]:
        """The objects of a kind, without the pods of the cluster itself."""
        found = self.stack.cluster.objects(what)
        return [o for o in found if what != "pods" or o["metadata"]["namespace"].startswith("runai-")]

    def _found(self, what: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.stack.cluster.objects(what)}


def _timed(work: Callable[[], None]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started
