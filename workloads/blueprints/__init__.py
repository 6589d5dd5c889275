"""Graphs to start from; each is a YAML file beside this module."""

from functools import cache
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

BLUEPRINTS: dict[str, Promise] = {
    "vllm-disaggregated": _("vLLM, disaggregated"),
    "vllm-aggregated": _("vLLM, aggregated"),
    "sglang-multinode": _("SGLang, one worker over 2 nodes"),
    "vllm-disagg-repository": _("vLLM, disagg.yaml of the Dynamo repository"),
}
DEFAULT = "vllm-disaggregated"


@cache
def blueprint(name: str) -> str:
    """The YAML of one of `BLUEPRINTS`; of the default one for any other name."""
    chosen = name if name in BLUEPRINTS else DEFAULT
    return (Path(__file__).parent / f"{chosen}.yaml").read_text(encoding="utf-8")
