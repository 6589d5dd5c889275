"""What a reconcile of an organisation said, and the secrets that a project has in its namespace."""

from typing import Any

from core.reconciling import Outcome
from organizations.models import Project, ProjectSecret
from organizations.secrets import encrypt


def condition(outcome: Outcome, type_: str) -> Any:
    return next((c for c in outcome.conditions if c.type == type_), None)


def add_secret(project: Project) -> ProjectSecret:
    content = {"HF_TOKEN": "hf_abc", "token": "hf_abc"}
    return ProjectSecret.objects.create(
        project=project, name="hf-token-secret", kind="hugging-face", keys=sorted(content), content=encrypt(content)
    )
