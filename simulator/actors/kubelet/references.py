"""What of Secrets and ConfigMaps a pod cannot start without: its volumes, what its images are pulled with, and the
environment of its containers. Pure."""

from collections.abc import Callable, Iterator

from clusters.kinds import CONFIG_MAP, SECRET, Kind
from clusters.operators.objects import spec_of
from simulator.client import Object

Read = Callable[[Kind, str], Object | None]
SOURCES = (("secretRef", "secretKeyRef", SECRET), ("configMapRef", "configMapKeyRef", CONFIG_MAP))


def missing_reference(container: Object, namespace: str, read: Read) -> str:
    """The kubelet's words for the first thing that is missing; "" when all is there or optional.

    `read(kind, name)`: the Secret or ConfigMap of the pod's namespace, None when there is none.
    """
    return next(_missing(container, namespace, read), "")


def missing_volume(pod: Object, read: Read) -> str:
    """The kubelet's words for the first volume that cannot be set up; until it can, no container is made."""
    for volume in spec_of(pod).get("volumes") or ():
        for kind, wanted in _sources(volume):
            found = None if wanted.get("optional") else read(kind, _name(wanted))
            if not wanted.get("optional") and found is None:
                return f'MountVolume.SetUp failed for volume "{volume["name"]}" : {_not_found(kind, wanted)}'
    return ""


def missing_pull_secrets(pod: Object, read: Read) -> list[str]:
    """The names of the secrets for pulling images, where not one of them is there; [] where one is, or none named."""
    names = [str(entry.get("name", "")) for entry in spec_of(pod).get("imagePullSecrets") or ()]
    return names if names and all(read(SECRET, name) is None for name in names) else []


def _sources(volume: Object) -> Iterator[tuple[Kind, Object]]:
    """The Secrets and ConfigMaps of a volume, alone or projected into one."""
    for part in (volume, *((volume.get("projected") or {}).get("sources") or ())):
        if part.get("secret"):
            yield SECRET, part["secret"]
        if part.get("configMap"):
            yield CONFIG_MAP, part["configMap"]


def _name(wanted: Object) -> str:
    return str(wanted.get("secretName") or wanted.get("name") or "")


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
    return f'{kind.kind.lower()} "{_name(wanted)}" not found'
