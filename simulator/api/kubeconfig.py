"""A kubeconfig for the simulated cluster's administrator."""

import base64
import os
from pathlib import Path

import yaml

NAME = "muster-simulator"


def write_kubeconfig(path: Path, url: str, token: str, authority: str) -> None:
    """Write it, with the CA's PEM text, for its owner's eyes only, in place of what was there."""
    encoded = base64.b64encode(authority.encode()).decode()
    cluster = {"server": url, "certificate-authority-data": encoded}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": f"{NAME}-admin", "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": f"{NAME}-admin"}}],
        "current-context": NAME,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)
    temporary.replace(path)
