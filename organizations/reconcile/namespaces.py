"""The namespace of one project: made, adopted where that was asked for, deleted or released."""

from typing import Any

from clusters.drift import differences, is_ours, made_by, owner_of
from clusters.kinds import NAMESPACE
from clusters.kube.errors import NameTaken
from clusters.kube.gateway import Gateway, Manifest
from clusters.names import MANAGED_BY, MANAGED_BY_LABEL, OWNER_LABEL
from core.conditions import Condition, find
from organizations.manifests import ADOPTED_LABEL, namespace_manifest, released_namespace_manifest
from organizations.models import Project
from organizations.rendering import owner_value


class Unlabelled(Exception):
    """The namespace names nobody as its owner or maker: whether it is the project's, an admin alone can tell."""

    def __init__(self, project: Project) -> None:
        self.name = project.namespace
        self.label = f"{OWNER_LABEL}={owner_value(project)}"
        super().__init__(
            f"The namespace {self.name} exists and nothing in it says who made it. If it is this project's own, "
            f"somebody took its labels off: give it back with “kubectl label namespace {self.name} {self.label}”. "
            "If it is not, make the project with “use the existing namespace”, or with another namespace."
        )


def sync_namespace(project: Project, gateway: Gateway) -> tuple[Condition, list[str]]:
    """Make the namespace ours; its condition, and its name where somebody had deleted it.

    Raises `NameTaken` where it is somebody else's and adoption was not asked for, and `Unlabelled` where it may be ours
    as well as somebody else's.
    """
    name, owner = project.namespace, owner_value(project)
    live = gateway.get(NAMESPACE, name)
    if live is not None and "deletionTimestamp" in live["metadata"]:
        message = f"The namespace {name} is being deleted by somebody. {_why_it_stays(live)}"
        return Condition("NamespaceReady", "False", "Terminating", message.strip(), arguments=(("name", name),)), []
    robbed = live is not None and _was_robbed(project, live)
    if live is not None and not (robbed or is_ours(live, owner)):
        _check_adoptable(project, live)
    adopted = not robbed and live is not None and project.adopts_namespace and not _is_made_by_us(live)
    manifest = namespace_manifest(name, owner, project.name, adopted=adopted)
    if live is None or differences(manifest, live):
        gateway.apply(NAMESPACE, manifest, force=live is not None and is_ours(live, owner))
    said = f"The namespace {name} existed and is used." if adopted else f"The namespace {name} is there."
    reason = "Adopted" if adopted else "Created"
    deleted = live is None and find(project.conditions, "NamespaceReady") is not None
    condition = Condition("NamespaceReady", "True", reason, said, arguments=(("name", name),))
    return condition, [f"Namespace {name}"] if deleted else []


def _check_adoptable(project: Project, live: Manifest) -> None:
    name, other = project.namespace, owner_of(live)
    if other:
        raise NameTaken(f"The namespace {name} belongs to {other}.", made_by=other)
    if project.adopts_namespace:
        return
    if made_by(live) == "unknown":
        raise Unlabelled(project)
    raise NameTaken(
        f"The namespace {name} exists already and was made by {made_by(live)}. "
        "Make the project with “use the existing namespace”, or with another namespace.",
        made_by=made_by(live),
    )


def _was_robbed(project: Project, live: Manifest) -> bool:
    """Whether the namespace is the one that we made, and somebody took every label of ours off.

    We write labels alone there, so that nothing in it names us any more: then nobody is named as its maker, and it was
    ours when it was looked at last.
    """
    last = find(project.conditions, "NamespaceReady") or {}
    as_made = (last.get("status"), last.get("reason")) == ("True", "Created")
    return as_made and not owner_of(live) and made_by(live) == "unknown"


def _is_made_by_us(live: Manifest) -> bool:
    labels = live["metadata"].get("labels") or {}
    return labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(ADOPTED_LABEL) != "true"


def remove_namespace(project: Project, gateway: Gateway) -> str:
    """Delete the namespace that we made, or let go of one that we adopted. Empty: done; else why it is still there."""
    name = project.namespace
    live = gateway.get(NAMESPACE, name)
    robbed = live is not None and _was_robbed(project, live)
    if live is None or not (robbed or is_ours(live, owner_value(project))):
        return ""
    metadata = live["metadata"]
    if not (robbed or _is_made_by_us(live)):
        gateway.apply(NAMESPACE, released_namespace_manifest(name, metadata["uid"]))
        return ""
    if "deletionTimestamp" not in metadata:
        gateway.delete(NAMESPACE, name, uid=metadata["uid"])
    live = gateway.get(NAMESPACE, name)
    return f"Namespace/{name} {_why_it_stays(live)}".strip() if live is not None else ""


def _why_it_stays(live: Manifest) -> str:
    """The namespace controller's own words on what keeps it."""
    conditions: list[dict[str, Any]] = (live.get("status") or {}).get("conditions") or []
    said = [
        str(c.get("message", ""))
        for c in conditions
        if c.get("status") == "True" and str(c.get("type", "")).startswith("Namespace")
    ]
    return f"({'; '.join(said)})" if said else ""
