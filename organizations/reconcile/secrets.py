"""The Secret objects of one project's namespace, each found by its name: whoever may list secrets may read them all."""

from clusters.drift import apply_if_different, delete_if_ours
from clusters.kinds import SECRET
from clusters.kube.errors import NameTaken
from clusters.kube.gateway import Gateway
from core.conditions import Condition
from organizations.manifests import SecretSpec, secret_manifest
from organizations.models import Project
from organizations.rendering import owner_value
from organizations.secrets import decrypt, object_names, object_type


def sync_secrets(project: Project, gateway: Gateway) -> list[Condition]:
    """Apply what the project has, delete what it had. A condition only where there is something to say."""
    owner, namespace = owner_value(project), project.namespace
    wanted: set[str] = set()
    taken: list[str] = []
    for secret in project.secrets.order_by("name"):
        content = decrypt(secret.content)
        for name in object_names(secret.kind, secret.name):
            wanted.add(name)
            spec = SecretSpec(name, namespace, owner, secret.name, object_type(secret.kind), content)
            try:
                apply_if_different(gateway, SECRET, secret_manifest(spec))
            except NameTaken as error:
                taken.append(f"{name} (made by {error.made_by})")
    for former in project.former_secrets.exclude(name__in=wanted).order_by("name"):
        if delete_if_ours(gateway, SECRET, former.name, namespace, owner=owner):
            former.delete()
    if taken:
        message = f"Secrets of somebody else have these names and are left alone: {', '.join(taken)}."
        return [Condition("SecretsReady", "False", "NameTaken", message, arguments=(("names", ", ".join(taken)),))]
    if not wanted:
        return []
    return [Condition("SecretsReady", "True", "Applied", f"Secrets are there: {', '.join(sorted(wanted))}.")]


def remove_secrets(project: Project, gateway: Gateway) -> None:
    """Delete the project's secrets from a namespace that stays."""
    owner = owner_value(project)
    names = {name for secret in project.secrets.all() for name in object_names(secret.kind, secret.name)}
    for name in sorted({*names, *project.former_secrets.values_list("name", flat=True)}):
        delete_if_ours(gateway, SECRET, name, project.namespace, owner=owner)
