"""Kubernetes' rules for names and labels, with the messages of `k8s.io/apimachinery/pkg/util/validation`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from simulator.api.errors import FieldError, field_invalid

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_DNS1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
    f"is '{_DNS1035}')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED}')"
)
_PREFIX_TEXT = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    f"validation is '{_VALUE}')"
)

Check = Callable[[str], list[str]]


def _matcher(pattern: str, text: str, limit: int, unit: str = "bytes") -> Check:
    compiled = re.compile(pattern)

    def check(value: str) -> list[str]:
        problems = [] if len(value) <= limit else [f"must be no more than {limit} {unit}"]
        if compiled.fullmatch(value) is None:
            problems.append(text)
        return problems

    return check


subdomain = _matcher(_SUBDOMAIN, _SUBDOMAIN_TEXT, 253, "characters")
label = _matcher(_LABEL, _LABEL_TEXT, 63)
dns1035 = _matcher(_DNS1035, _DNS1035_TEXT, 63)
label_value = _matcher(_VALUE, _VALUE_TEXT, 63)
_prefix = _matcher(_SUBDOMAIN, _SUBDOMAIN_TEXT, 253)
_name_part = _matcher(_QUALIFIED, _QUALIFIED_TEXT, 63)


def namespace(value: str) -> list[str]:
    """Names of namespaces (`NameIsDNSLabel` of validation-gen)."""
    if "." in value:
        return ["must not contain dots"]
    return [text.replace("63 bytes", "63 characters") for text in label(value)]


def path_segment(value: str) -> list[str]:
    """Names of RBAC objects: anything that can be one step of a URL."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in value]


def qualified_name(value: str) -> list[str]:
    """A label or annotation key: an optional DNS prefix, a slash, a name."""
    if value.count("/") > 1:
        return [_QUALIFIED_TEXT.replace("name part must", "a valid label key must") + _PREFIX_TEXT]
    prefix, slash, name = value.rpartition("/")
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        problems += [f"prefix part {text}" for text in (_prefix(prefix) if prefix else [])]
    if not name:
        return [*problems, "name part must be non-empty"]
    return problems + [text if text.startswith("name part") else f"name part {text}" for text in _name_part(name)]


def labels(values: Any, path: str) -> list[FieldError]:
    """Errors of a label map."""
    errors: list[FieldError] = []
    if not isinstance(values, Mapping):
        return errors
    for key, value in values.items():
        errors += [field_invalid(path, key, text) for text in qualified_name(key)]
        if not isinstance(value, str):
            errors.append(field_invalid(path, value, "must be a string"))
            continue
        errors += [field_invalid(path, value, text) for text in label_value(value)]
    return errors


def annotations(values: Any, path: str) -> list[FieldError]:
    """Errors of an annotation map: keys as labels (in any case), 256 KiB together."""
    errors: list[FieldError] = []
    if not isinstance(values, Mapping):
        return errors
    size = 0
    for key, value in values.items():
        errors += [field_invalid(path, key, text) for text in qualified_name(key.lower())]
        size += len(key) + len(str(value))
    if size > 262144:
        errors.append(FieldError(path, "FieldValueTooLong", "Too long: may not be more than 262144 bytes"))
    return errors
