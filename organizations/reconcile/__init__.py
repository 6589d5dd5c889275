"""Makes departments and projects true in their cluster and says what is in the way. Writes status only."""

from organizations.reconcile.departments import reconcile_department, sync_department
from organizations.reconcile.projects import reconcile_project, sync_project

__all__ = ["reconcile_department", "reconcile_project", "sync_department", "sync_project"]
