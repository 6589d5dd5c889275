"""What a container's environment takes from Secrets and ConfigMaps; without it the kubelet does not start it. Pure."""

from collections.abc import Callable, Iterator

from clusters.kinds import CONFIG_MAP, SECRET, Kind
from simulator.client import Object

Read = Callable[[Kind, str], Object | None]
SOURCES = (("secretRef", "secretKeyRef", SECRET), ("configMapRef", "configMapKeyRef", CONFIG_MAP))


def missing_reference(container: Object, namespace: str, read: Read) -> str:
    """The kubelet's words for the first thing that is missing; "" when all is there or optional.

    `read(kind, name)`: the Secret or ConfigMap of the pod's namespace, None when there is none.
    """
    return next(_missing(container, namespace, read), "")


def _missing(container: Object, namespace: str, read: Read) -> Iterator[str]:
    for whole, single, kind in SOURCES:
        for source in container.get("envFrom") or ():
            wanted = source.get(whole) or {}
            if wanted and not wanted.get("optional") and read(kind, wanted.get("name", "")) is None:
                yield _not_found(kind, wanted)
        for variable in container.get("env") or ():
            wanted = (variable.get("valueFrom") or {}).get(single) or {}
            if not wanted or wanted.get("optional"):
                continue
            found = read(kind, wanted.get("name", ""))
            if found is None:
                yield _not_found(kind, wanted)
            elif wanted["key"] not in {**(found.get("data") or {}), **(found.get("binaryData") or {})}:
                yield f"couldn't find key {wanted['key']} in {kind.kind} {namespace}/{wanted['name']}"


def _not_found(kind: Kind, wanted: Object) -> str:
    return f'{kind.kind.lower()} "{wanted.get("name", "")}" not found'
