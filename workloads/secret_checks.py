"""Which secrets a graph reads, and whether its project has them: their absence shows only when pods start."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from organizations.models import Project, ProjectSecret
from organizations.secrets import HUGGING_FACE_NAMES, SecretKind

# Fields that refer to a secret, and under which key they have its name.
_NAME_KEYS = {"secretRef": "name", "secretKeyRef": "name", "secret": "secretName"}


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A secret that a document refers to: at which path first, and whether it is optional everywhere."""

    field: str
    optional: bool


def secrets_read(document: Mapping[str, Any]) -> dict[str, SecretUse]:
    """The secrets that the document refers to, by name. Pure."""
    found: dict[str, SecretUse] = {}
    for name, use in _references(document, ""):
        before = found.get(name, use)
        found[name] = replace(before, optional=before.optional and use.optional)
    return found


def missing_secrets(project: Project, document: Mapping[str, Any]) -> dict[str, SecretUse]:
    """Those that Muster did not write into the project."""
    wanted = secrets_read(document)
    rows = ProjectSecret.objects.filter(project=project).values_list("name", "kind") if wanted else ()
    known: set[str] = set()
    for name, kind in rows:
        known |= set(HUGGING_FACE_NAMES) if kind == SecretKind.HUGGING_FACE else {name}
    return {name: use for name, use in sorted(wanted.items()) if name not in known}


def _references(value: Any, path: str) -> Iterator[tuple[str, SecretUse]]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            field = f"{path}.{key}" if path else str(key)
            named = list(_named(str(key), inner, field))
            yield from named or _references(inner, field)


def _named(key: str, value: Any, field: str) -> Iterator[tuple[str, SecretUse]]:
    """What one field names: a reference, a volume's secret, or the secrets that images are pulled with."""
    if key == "envFromSecret" and isinstance(value, str):
        yield value, SecretUse(field, optional=False)
    elif key in _NAME_KEYS and isinstance(value, Mapping) and isinstance(value.get(_NAME_KEYS[key]), str):
        yield value[_NAME_KEYS[key]], SecretUse(field, bool(value.get("optional")))
    elif key == "imagePullSecrets" and isinstance(value, list):
        for index, entry in enumerate(value):
            if isinstance(entry, Mapping) and "name" in entry:
                yield entry["name"], SecretUse(f"{field}[{index}]", optional=False)
