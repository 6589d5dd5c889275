"""The example organisation: people, topology, pools, quotas and workloads, as plain data. Pure."""

from dataclasses import dataclass

TOPOLOGY = "datacenter"
LEVELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname")
ZONE, RACK, HOST = LEVELS
TRAINING_POOL = "training"
TRAINING_LABEL = ("team-pool", "training")
DEFAULT_POOL = "default"
VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a role; `project` "" is the whole installation."""

    name: str
    project: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: deserved GPUs and limit on one pool (limit −1: none)."""

    name: str
    department: str
    pool: str
    deserved: int
    limit: int = -1
    description: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One role of a graph: `replicas` pods of `gpus` each."""

    name: str
    kind: str  # worker, prefill, decode
    replicas: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Graph:
    """A workload: who submits it where, its roles, and where it wants to be."""

    name: str
    owner: str
    project: str
    model: str
    roles: tuple[Role, ...]
    required: str = ""
    preferred: str = ""
    stopped: bool = False


DEPARTMENTS = {
    "research": "Models and evaluation",
    "product": "What customers use",
}
PROJECTS = (
    Project("assistant", "product", DEFAULT_POOL, 40, description="Chat and agents"),
    Project("search", "product", DEFAULT_POOL, 24, description="Retrieval and ranking"),
    Project("evals", "research", DEFAULT_POOL, 16, 48, "Nightly evaluation"),
    Project("alignment", "research", TRAINING_POOL, 16, 24, "Preference models"),
)
PEOPLE = (
    Person("ada.novak", "assistant"),
    Person("mei.tanaka", "search"),
    Person("ines.costa", "alignment"),
    Person("omar.haddad", "evals"),
)
GRAPHS = (
    Graph(
        "llama-70b-disagg",
        "ada.novak",
        "assistant",
        "meta-llama/Llama-3.3-70B-Instruct",
        (Role("prefill", "prefill", 2, 4), Role("decode", "decode", 4, 4)),
        required=RACK,
    ),
    Graph("qwen3-8b-agg", "ada.novak", "assistant", "Qwen/Qwen3-8B", (Role("worker", "worker", 4, 1),), preferred=HOST),
    Graph(
        "qwen3-32b-disagg",
        "mei.tanaka",
        "search",
        "Qwen/Qwen3-32B",
        (Role("prefill", "prefill", 2, 2), Role("decode", "decode", 4, 2)),
        preferred=RACK,
    ),
    Graph(
        "embed-gte-agg", "mei.tanaka", "search", "Alibaba-NLP/gte-Qwen2-7B-instruct", (Role("worker", "worker", 6, 1),)
    ),
    Graph("rerank-bge-agg", "mei.tanaka", "search", "BAAI/bge-reranker-v2-m3", (Role("worker", "worker", 2, 1),)),
    Graph(
        "eval-longctx",
        "omar.haddad",
        "evals",
        "meta-llama/Llama-3.1-405B-Instruct",
        (Role("prefill", "prefill", 2, 8), Role("decode", "decode", 2, 8)),
        required=RACK,
    ),
    Graph("eval-mmlu-agg", "omar.haddad", "evals", "Qwen/Qwen3-14B", (Role("worker", "worker", 8, 1),), preferred=ZONE),
    Graph(
        "nemotron-49b-disagg",
        "ines.costa",
        "alignment",
        "nvidia/Llama-3_3-Nemotron-Super-49B-v1",
        (Role("prefill", "prefill", 1, 4), Role("decode", "decode", 2, 4)),
        preferred=RACK,
    ),
    Graph(
        "mixtral-8x22b-agg",
        "ines.costa",
        "alignment",
        "mistralai/Mixtral-8x22B-Instruct-v0.1",
        (Role("worker", "worker", 1, 8),),
        stopped=True,
    ),
)


def source(graph: Graph) -> str:
    """The YAML that its owner submits."""
    wishes = {"kai.scheduler/topology-required-placement": graph.required}
    wishes["kai.scheduler/topology-preferred-placement"] = graph.preferred
    given = [f'    {key}: "{level}"' for key, level in wishes.items() if level]
    annotations = "\n".join(["  annotations:", f'    kai.scheduler/topology: "{TOPOLOGY}"', *given]) if given else ""
    return "\n".join(
        line
        for line in (
            "apiVersion: nvidia.com/v1beta1",
            "kind: DynamoGraphDeployment",
            "metadata:",
            f"  name: {graph.name}",
            annotations,
            "spec:",
            "  backendFramework: vllm",
            "  components:",
            _frontend(),
            *(_worker(graph, role) for role in graph.roles),
            "",
        )
        if line
    )


def _frontend() -> str:
    return f"""\
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: {VLLM}"""


def _worker(graph: Graph, role: Role) -> str:
    mode = "" if role.kind == "worker" else f", --disaggregation-mode, {role.kind}"
    return f"""\
    - name: {role.name}
      type: {role.kind}
      replicas: {role.replicas}
      minAvailable: {role.replicas}  # all start together, or none does
      podTemplate:
        spec:
          containers:
            - name: main
              image: {VLLM}
              command: [python3, -m, dynamo.vllm]
              args: [--model, {graph.model}, --tensor-parallel-size, "{role.gpus}"{mode}]
              resources:
                limits:
                  nvidia.com/gpu: "{role.gpus}\""""
