"""Short names that lists and detail pages share."""

from typing import Any

from django.utils.translation import gettext as _

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
