"""Where the simulator answers otherwise than the recorded server: each step with its reason.

docs/simulator.md has the same list, written by `python -m tests.contract.differences`; a test holds them together.
"""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"
BEGIN, END = "<!-- differences: begin -->", "<!-- differences: end -->"

# (`subject: scenario`, number of the step) -> reason
DIFFERENCES: dict[tuple[str, int], str] = {
    ("living: foreground and orphan", 5): (
        "The simulator's garbage collector has taken off its own finalizer by the time of this request, which is one "
        "version more; the real one works through a queue."
    ),
    ("living: a node", 0): (
        "A real server taints new nodes as not ready until a kubelet reports, and writes empty kubelet ports and node "
        "info and the capacity as allocatable; the simulated kubelets report at once and in full."
    ),
    (
        "living: a node",
        1,
    ): "The real node controller adds a TTL annotation; empty kubelet ports and node info as before.",
    ("living: a node", 3): "The TTL annotation of the real node controller and its ownership, empty parts as before.",
    ("living: a node", 4): (
        "The real node controller turns `spec.unschedulable` into a taint; in the simulation only the scheduler heeds "
        "it. The rest as before."
    ),
    ("living: a node", 5): "The taint, the annotation and the empty parts of the steps before.",
    ("living: logs of a pod that does not run", 1): (
        "The recorded server had no kubelet to ask, and its empty answer is of no use to anybody; the simulator "
        "answers what a kubelet does: the container is waiting to start."
    ),
    ("living: access reviews", 5): (
        "The administrators are named differently: by the token file of the recorded server, by the simulator itself."
    ),
    ("reading: versions of lists", 3): (
        "Version 1 had not been compacted when this was recorded; the simulator's history begins with its first object."
    ),
    ("writing: fields of a pod that cannot change", 1): (
        "The refusal ends with a diff of the internal Go struct, which nobody reads; the simulator ends before it."
    ),
    ("writing: fields of a pod that cannot change", 4): "The same diff of the internal Go struct is left out.",
}


def as_table() -> str:
    """The list as docs/simulator.md has it."""
    rows = [f"| {scenario} | {number + 1} | {reason} |" for (scenario, number), reason in sorted(DIFFERENCES.items())]
    head = ["| Recorded scenario | Request | Why the simulator answers otherwise |", "|---|---|---|"]
    return "\n".join([BEGIN, *head, *rows, END])


def main() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + as_table() + rest.partition(END)[2])


if __name__ == "__main__":
    main()
