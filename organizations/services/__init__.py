"""Writes the spec of departments, projects, quota and secrets: rights, rules, one transaction, one audit row."""

from organizations.services.departments import (
    create_department,
    delete_department,
    ensure_default_department,
    update_department,
)
from organizations.services.pools import node_pool_changed
from organizations.services.projects import ProjectInput, create_project, delete_project, update_project
from organizations.services.quotas import QuotaInput
from organizations.services.secrets import delete_secret, put_secret, rename_secret
from organizations.services.shared_secrets import (
    Place,
    change_shared_secret,
    delete_shared_secret,
    note_credential,
    share_secret,
)

__all__ = [
    "Place",
    "ProjectInput",
    "QuotaInput",
    "change_shared_secret",
    "create_department",
    "create_project",
    "delete_department",
    "delete_project",
    "delete_secret",
    "delete_shared_secret",
    "ensure_default_department",
    "node_pool_changed",
    "note_credential",
    "put_secret",
    "rename_secret",
    "share_secret",
    "update_department",
    "update_project",
]
