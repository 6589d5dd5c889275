"""The published CRDs of KAI and Grove as JSON Schema; tests that need them are skipped, by name, where they are not."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft4Validator

CRDS = Path(__file__).parents[3] / "shared" / "reference" / "crds"


def check_against_crd(group: str, plural: str, manifest: dict[str, Any]) -> None:
    """The manifest against the schema that the API server would check it with, unknown fields refused."""
    found = list(CRDS.glob(f"*/{group}_{plural}.yaml"))
    if not found:
        pytest.skip(f"needs ../shared/reference/crds/*/{group}_{plural}.yaml")
    versions = yaml.safe_load(found[0].read_text())["spec"]["versions"]
    version = manifest["apiVersion"].rpartition("/")[2]
    schema = next(v["schema"]["openAPIV3Schema"] for v in versions if v["name"] == version)
    Draft4Validator(_closed(schema)).validate(manifest)


def _closed(node: Any) -> Any:
    """Structural schemas prune what they do not name; here it is an error instead, but for metadata."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    if node.get("type") == "object" and "properties" in node and "additionalProperties" not in node:
        closed["additionalProperties"] = False
    return closed
