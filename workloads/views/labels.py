"""Short names that lists and detail pages share."""

from typing import Any

from django.utils.translation import gettext as _

from clusters.kinds import KAI_POD_GROUP
from clusters.models import Cluster
from workloads.cluster_graphs import GangFault, GangFinding
from workloads.models import Workload
from workloads.words import reason_sentence

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TRT-LLM"}


def kind_of(workload: Workload) -> str:
    """Disaggregated or aggregated, in the short form of lists."""
    return _("Disagg") if workload.disaggregated else _("Agg")


def placement_words(workload: Workload) -> str:
    """The placement's state and where."""
    placement = workload.placement or {}
    return " ".join([placement.get("state", ""), *placement.get("domains", [])]).strip()


def roles_words(row: Any) -> str:
    """Ready pods by role, of a row of the list."""
    return " ".join(f"{role.name} {role.ready}/{role.desired}" for role in row.roles)


def why_words(workload: Workload) -> str:
    """Why it waits, in a sentence."""
    return reason_sentence(workload.waiting_reason or {})


def project_name(workload: Workload) -> str:
    """The project's name."""
    return workload.project.name


def asked(workload: Workload) -> object:
    """GPUs asked for."""
    return workload.gpus_requested


def held(workload: Workload) -> object:
    """GPUs held."""
    return workload.gpus_held


def since(workload: Workload) -> object:
    """When it began to wait."""
    return workload.waiting_since


def _merging(kind: str) -> str:
    """What becomes of gangs of one name. Those of graphs and clique sets have it only where Grove names them."""
    if kind == KAI_POD_GROUP.kind:
        return _("The scheduler knows gangs by their bare name: these merge into one, and start incomplete.")
    return _(
        "Where Grove makes the pod groups, their gangs have one name too: they merge into one, and start incomplete. "
        "KAI’s pod grouper keeps them apart."
    )


def fault_item(cluster: Cluster, finding: GangFinding) -> dict[str, Any]:
    """A fault of the cluster's gangs as components/finding.html draws it."""
    words = {"kind": finding.kind, "name": finding.name, "value": finding.value}
    texts = {
        GangFault.EQUAL_NAMES: (
            "bad",
            _("%(kind)s %(name)s is in several namespaces: %(value)s."),
            _merging(finding.kind),
        ),
        GangFault.PARENT_QUEUE: (
            "wait",
            _("%(kind)s %(name)s is in queue %(value)s, which has queues below it."),
            _("Nothing runs in a parent queue, and the scheduler does not say so. Use one of the queues below it."),
        ),
        GangFault.BAD_DURATION: (
            "bad",
            _("%(kind)s %(name)s has a duration that cannot be read, %(value)s."),
            _("Every reader of this kind in the cluster fails until it is gone. Allowed units: h, m, s."),
        ),
    }
    status, text, detail = texts[finding.fault]
    return {"status": status, "text": f"{cluster.name}: {text % words}", "detail": detail}
