"""Objects of others that rows of Muster take over, and give back: the label that says whose they are, by server-side
apply, and what they were before.

`heeding_adoptions` does so before a row's reconcile. Once an object carries the label the ordinary flow keeps it; once
given back the ordinary deletion finds nothing of ours and leaves it alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from django.utils import timezone

from clusters.claim import check_sole
from clusters.connections import gateway_for
from clusters.drift import Path, differences, is_ours, owner_of, owners_of
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, Kind
from clusters.kube.errors import Rejected
from clusters.kube.gateway import Gateway, Manifest
from clusters.models import Adoption, Cluster, ClusterObject
from clusters.names import MANAGED_BY, MANAGED_BY_LABEL, OWNER_LABEL, owner_label_value
from core.models import DesiredState
from core.reconciling import Outcome

Row = TypeVar("Row", bound=DesiredState)
_OURS = (MANAGED_BY_LABEL, OWNER_LABEL)
# Kinds whose whole spec people write: what they take out of it later must not stay because its maker owned it too.
_WHOLE = frozenset({DYNAMO_GRAPH_DEPLOYMENT.plural})


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object of somebody else that Muster can take over, or why it cannot (`blocked`).

    `wanted` is what Muster would write; `becomes` the kind of row, `effects` what else would come to be.
    """

    found: ClusterObject
    kind: Kind
    becomes: str
    name: str
    blocked: str = ""
    wanted: Manifest | None = None
    effects: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.found.name}"

    @property
    def pk(self) -> str:
        """What forms and the API call it: the object's uid."""
        return self.found.uid

    @property
    def label(self) -> str:
        """The object's name, after its namespace where it has one."""
        return qualified(self.found.namespace, self.found.name)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that would change: its path, what it is and becomes, and who owns it now."""

    path: str
    now: Any
    then: Any
    owners: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, str]:
        """What it is and becomes as JSON; "" for what is not there."""
        now, then = ("" if value is None else msgspec.json.encode(value).decode() for value in (self.now, self.then))
        return now, then


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a take-over of one object would change; `error`: it could not be read."""

    candidate: Candidate
    changes: tuple[FieldChange, ...] = ()
    error: str = ""


def qualified(namespace: str, name: str) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    return f"{namespace}/{name}" if namespace else name


def note_adoption(row: DesiredState, cluster: Cluster, candidates: Iterable[Candidate], *, by: str) -> None:
    """Remember that `row` takes the objects over, and what they are now. Call in the transaction that makes the row."""
    for candidate in candidates:
        found = candidate.found
        Adoption.objects.create(
            cluster=cluster,
            owner=owner_label_value(row._meta.label, row.pk),
            group=candidate.kind.group,
            version=candidate.kind.version,
            kind=candidate.kind.kind,
            plural=candidate.kind.plural,
            namespace=found.namespace,
            name=found.name,
            uid=found.uid,
            before=as_given(candidate.kind, found.manifest),
            made_by=found.made_by or "unknown",
            by=by,
        )


def as_given(kind: Kind, manifest: Mapping[str, Any]) -> Manifest:
    """An object as its maker would apply it: without status, what the server fills in, and labels of ours."""
    metadata = manifest["metadata"]
    kept: Manifest = {key: metadata[key] for key in ("name", "namespace", "annotations") if metadata.get(key)}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _OURS}
    if labels:
        kept["labels"] = labels
    rest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": kept, **rest}


def heeding_adoptions(reconcile: Callable[[Row], Outcome]) -> Callable[[Row], Outcome]:
    """`reconcile` of rows that may have taken objects over. Raises `OtherMuster` where another installation keeps the
    cluster."""

    def run(row: Row) -> Outcome:
        check_sole(row)
        owner = owner_label_value(row._meta.label, row.pk)
        waiting = [one for one in Adoption.objects.filter(owner=owner) if one.is_waiting]
        if waiting:
            gateway = gateway_for(waiting[0].cluster)
            for adoption in waiting:
                settle_adoption(adoption, gateway)
        outcome = reconcile(row)
        if outcome.gone:
            Adoption.objects.filter(owner=owner).delete()
        return outcome

    return run


def settle_adoption(adoption: Adoption, gateway: Gateway) -> None:
    """Take the object over, or give it back. Raises `GatewayError`; may be repeated.

    Where it is gone, was made anew or belongs to another row by now, there is nothing to take or to give."""
    kind = adoption.served_kind
    live = gateway.get(kind, adoption.name, adoption.namespace or None)
    if live is None or not _is_concerned(adoption, live):
        adoption.delete()
    elif adoption.release_requested_at is not None:
        _give_back(adoption, gateway, live)
        adoption.delete()
    else:
        labels = {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: adoption.owner}
        labelled = gateway.apply(kind, _identity(adoption, adoption.uid, labels=labels), force=True)
        if kind.plural in _WHOLE:
            gateway.own_alone(kind, labelled, "spec")
        Adoption.objects.filter(pk=adoption.pk).update(taken_at=timezone.now())


def _is_concerned(adoption: Adoption, live: Manifest) -> bool:
    """Whether it is the object that was to be taken over, or to be given back also the one that we made in its place:
    a suspended graph that was resumed, say."""
    if owner_of(live) not in ("", adoption.owner):
        return False
    made_anew = live["metadata"]["uid"] != adoption.uid
    return not made_anew or (adoption.release_requested_at is not None and is_ours(live, adoption.owner))


def _give_back(adoption: Adoption, gateway: Gateway, live: Manifest) -> None:
    """Its maker owns again what it was before; then all that only we own goes with our part.

    What we made in its place and cannot become what it was (other levels of a topology, say) is left to its deletion.
    """
    if not is_ours(live, adoption.owner):
        return
    uid = live["metadata"]["uid"]
    before: Manifest = {**adoption.before, "metadata": {**adoption.before["metadata"], "uid": uid}}
    try:
        gateway.apply(adoption.served_kind, before, force=True, manager=adoption.made_by)
    except Rejected:
        if uid == adoption.uid:
            raise
        return
    gateway.apply(adoption.served_kind, _identity(adoption, uid))


def _identity(adoption: Adoption, uid: str, **metadata: Any) -> Manifest:
    """The uid is a precondition: an object that was made anew is not ours to touch."""
    named = {"name": adoption.name, "uid": uid, **metadata}
    if adoption.namespace:
        named["namespace"] = adoption.namespace
    kind = adoption.served_kind
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named}


def field_changes(wanted: Manifest, live: Manifest) -> tuple[FieldChange, ...]:
    """What applying `wanted` would change of `live`, field by field, with those who own each now. Pure."""
    return tuple(
        FieldChange(".".join(path), _at(live, path), _at(wanted, path), owners_of(path, live))
        for path in differences(wanted, live)
    )


def _at(manifest: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(manifest, Mapping) or key not in manifest:
            return None
        manifest = manifest[key]
    return manifest


def keeper_of(manifest: Mapping[str, Any]) -> str:
    """Who keeps an object, by its controlling owner reference (`Department research` of KRM, say): to take it over
    would be to fight. Empty: nobody."""
    for reference in manifest["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            group = str(reference.get("apiVersion", "")).partition("/")[0]
            return f"{reference.get('kind')} {reference.get('name')} ({group})"
    return ""
