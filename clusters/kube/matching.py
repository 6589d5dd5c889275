"""Label selectors and merge patches, for the in-memory gateway. Pure."""

import copy
import re
from collections.abc import Mapping
from typing import Any


def merge_patch(target: Any, patch: Any) -> Any:
    """`target` with a JSON merge patch (RFC 7386) applied; None removes a key."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether a label selector, as the list call takes it, selects an object with these labels."""
    terms = [term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip()]
    return all(_holds(labels, term) for term in terms)


def _holds(labels: Mapping[str, str], term: str) -> bool:
    if match := re.fullmatch(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)", term):
        values = [value.strip() for value in match[3].split(",")]
        inside = match[1] in labels and labels[match[1]] in values
        return inside if match[2] == "in" else not inside
    if match := re.fullmatch(r"([^!=\s]+)\s*(==|=|!=)\s*(\S*)", term):
        equal = match[1] in labels and labels[match[1]] == match[3]
        return equal if match[2] != "!=" else not equal
    return term[1:] not in labels if term.startswith("!") else term in labels
