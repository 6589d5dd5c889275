"""Causes and remedies in the viewer's language: the one place of their sentences. Names come in as people may see them.

Each code has a title and a sentence; what stands in `%(…)s` are the code's names and its numbers as text.
"""

from collections.abc import Mapping

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.numerals import singular
from core.templatetags.quantities import number
from scheduling.moments import utc_moment
from workloads.diagnosis_sentences import ACTS, CAUSES
from workloads.words import FIRST_CAUSES, place_word, reason_short

Names = Mapping[str, str]
Numbers = Mapping[str, float]

UNITS: Mapping[str, str | Promise] = {
    "gpu": gettext_lazy("GPUs"),
    "cpu": gettext_lazy("CPU cores"),
    "memory": gettext_lazy("GiB of memory"),
    "queueMemory": gettext_lazy("GB of memory"),
}
"""Memory is in the unit in which people write it: GiB in manifests, GB in quotas and limits."""
_SCALES = {"cpu": 1000.0, "memory": 2.0**30, "queueMemory": 1e9}
_AMOUNTS = ("bound", "held", "asked", "short", "largest", "from", "to")
_MOMENTS = ("until",)


class _Known(dict[str, str]):
    """What a sentence needs; what is missing is a dash, never an error."""

    def __missing__(self, key: str) -> str:
        return "–"


def cause_title(code: str) -> str:
    """What a cause is called."""
    return str(CAUSES.get(code, CAUSES["Unexplained"])[0])


def cause_sentence(code: str, names: Names, numbers: Numbers, *, others: int = 0) -> str:
    """A cause with its numbers; `others` are the causes beside it."""
    variant = sentence_code(code, names, numbers, others=others)
    return singular(str(CAUSES.get(variant, CAUSES["Unexplained"])[1]) % arguments(names, numbers))


def sentence_code(code: str, names: Names, numbers: Numbers, *, others: int = 0) -> str:
    """The code of the sentence that is true of a cause: some have one more for a cause that is not the only one."""
    variant = _variant(str(code), names, numbers)
    among = f"{variant}AmongOthers"
    return among if others and among in CAUSES else variant


def cause_short(code: str, names: Names, numbers: Numbers) -> str:
    """A cause in at most 32 characters: with its numbers where lists have such a phrase, else its title."""
    if code in FIRST_CAUSES and _variant(code, names, numbers) == code:
        return reason_short({"code": code, "arguments": {**arguments(names, numbers), "level": names.get("level", "")}})
    return cause_title(code)


def _variant(code: str, names: Names, numbers: Numbers) -> str:
    """Which of the sentences of a code is true: enough GPUs may be there, and not in the pieces that are needed."""
    if code in ("LevelTooSmall", "PoolTooSmall") and numbers.get("asked", 0) <= numbers.get("largest", 0):
        return f"{code}InPieces"
    if code == "SelectorMatchesTooFew" and not (names.get("value") and names.get("values")):
        return f"{code}None" if names.get("value") else f"{code}Terms"
    return f"{code}Counted" if code == "NodesCordoned" and names.get("counted") else code


def act_sentence(act: str, names: Names, numbers: Numbers) -> str:
    """What would be done."""
    return singular(str(ACTS.get(act, act)) % arguments(names, numbers))


def arguments(names: Names, numbers: Numbers) -> Mapping[str, str]:
    """Names and numbers as text: amounts in the unit of their resource, moments in local time, roles and levels in
    words."""
    unit = unit_of(names)
    told = {key: value or "–" for key, value in names.items()}
    for key, value in numbers.items():
        if key in names:
            continue
        if key in _MOMENTS:
            told[key] = _moment(value)
        else:
            told[key] = amount(value, unit if key in _AMOUNTS else "gpu")
    told["resource"] = str(UNITS.get(unit, unit))
    told["place"] = place_word(names.get("level", ""))
    told["from_place"] = place_word(names.get("from", ""))
    told["role"] = _role(names.get("subgroup", ""))
    told["pool"] = names.get("pool") or "default"
    for key in ("wanted", "queuePool"):
        if key in names:
            told[key] = names[key] or "default"
    return _Known(told)


def unit_of(names: Names) -> str:
    """The key of `UNITS` of a cause's or act's amounts."""
    resource = names.get("resource", "gpu")
    return "queueMemory" if resource == "memory" and "queue" in names else resource


def amount(value: float, unit: str = "gpu") -> str:
    """A number in the unit that `UNITS` names, to its thousandth where it is no device; -1 is unlimited."""
    if value == -1:
        return _("unlimited")
    return number(round(value / _SCALES[unit], 3) if unit in _SCALES else value)


def _moment(seconds: float) -> str:
    return date_format(timezone.localtime(utc_moment(seconds)), "Y-m-d H:i:s")


def _role(subgroup: str) -> str:
    return _("role %(name)s") % {"name": subgroup} if subgroup else _("the gang")
