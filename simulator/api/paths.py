"""URLs of the Kubernetes API taken apart, as the API server's request info resolver does."""

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """`/apis/{group}/{version}[/namespaces/{ns}]/{plural}[/{name}[/{subresource}[/{rest}]]]`."""

    group: str
    version: str
    plural: str
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    rest: str = ""


def parse(raw_path: str) -> ResourcePath | None:
    """None for paths that address no resource (`/healthz`, `/apis`, `/apis/group/version`)."""
    parts = raw_path.strip("/").split("/", 2 if raw_path.startswith("/api/") else 3)
    prefix = 2 if parts[0] == "api" else 3
    if parts[0] not in ("api", "apis") or len(parts) <= prefix or not parts[prefix]:
        return None
    group = "" if prefix == 2 else parts[1]
    version = parts[prefix - 1]
    below = parts[prefix]
    steps = below.split("/", 2)
    if steps[0] == "namespaces" and len(steps) == 3 and not _is_subresource(steps[2]):
        return _below(group, version, unquote(steps[1]), steps[2])
    return _below(group, version, None, below)


def _below(group: str, version: str, namespace: str | None, text: str) -> ResourcePath:
    steps = text.split("/", 3)
    steps += [""] * (4 - len(steps))
    return ResourcePath(group, version, unquote(steps[0]), namespace, unquote(steps[1]), unquote(steps[2]), steps[3])


def _is_subresource(text: str) -> bool:
    return text.rstrip("/") in ("status", "finalize")
