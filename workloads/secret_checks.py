"""Which secrets a graph reads, and whether its project has them: their absence shows only when pods start."""

from collections.abc import Iterator, Mapping
from typing import Any

from organizations.models import Project, ProjectSecret
from organizations.secrets import HUGGING_FACE_NAMES, SecretKind

_REFERENCES = ("secretRef", "secretKeyRef")


def secrets_read(document: Mapping[str, Any]) -> dict[str, bool]:
    """Names of the secrets that the document refers to, and whether each is optional everywhere. Pure."""
    found: dict[str, bool] = {}
    for name, optional in _references(document):
        found[name] = found.get(name, True) and optional
    return found


def missing_secrets(project: Project, document: Mapping[str, Any]) -> dict[str, bool]:
    """Those that Muster did not write into the project, and whether each is optional."""
    wanted = secrets_read(document)
    rows = ProjectSecret.objects.filter(project=project).values_list("name", "kind") if wanted else ()
    known: set[str] = set()
    for name, kind in rows:
        known |= set(HUGGING_FACE_NAMES) if kind == SecretKind.HUGGING_FACE else {name}
    return {name: optional for name, optional in sorted(wanted.items()) if name not in known}


def _references(value: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(value, list):
        for inner in value:
            yield from _references(inner)
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        if key == "envFromSecret" and isinstance(inner, str):
            yield inner, False
        elif key in _REFERENCES and isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            yield inner["name"], bool(inner.get("optional"))
        elif key == "imagePullSecrets" and isinstance(inner, list):
            yield from ((entry["name"], False) for entry in inner if isinstance(entry, Mapping) and "name" in entry)
        elif key == "secret" and isinstance(inner, Mapping) and isinstance(inner.get("secretName"), str):
            yield inner["secretName"], bool(inner.get("optional"))
        else:
            yield from _references(inner)
