"""Sentences with several numbers, in right English: gettext has a plural form for one number of a sentence."""

import re

from django.utils.translation import get_language

_ONE = re.compile(
    r"(?<![\d.,…])1 (GPUs|pods|nodes|replicas|workloads|levels|seconds|CPU cores)\b(?: (are|were|wait|exist)\b)?"
)
_ONE_FREE = re.compile(r"(?<![\d.,…])1 are free\b")
_VERBS = {"are": "is", "were": "was", "wait": "waits", "exist": "exists"}


def singular(sentence: str) -> str:
    """An English sentence with "1 GPU" for "1 GPUs", and its verb; one of another language as it is."""
    if not (get_language() or "en").startswith("en"):
        return sentence
    return _ONE_FREE.sub("1 is free", _ONE.sub(_one, sentence))


def _one(found: re.Match[str]) -> str:
    verb = found[2]
    return f"1 {found[1][:-1]}" + (f" {_VERBS[verb]}" if verb else "")
