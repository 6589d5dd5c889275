"""Reads the submission page's input: form and YAML are two views of one document, which travels in `source`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from core.errors import InvalidInput, NotFound, NotPermitted
from organizations.models import Project
from topology.models import NodePool
from workloads import document as documents
from workloads import selectors
from workloads.blueprints import DEFAULT, blueprint
from workloads.checks import Check, Submission, as_checks, check_submission, named, quotas_of
from workloads.document import dump
from workloads.editing import Fields, RoleFields, changes_of, fields_of
from workloads.lines import with_lines
from workloads.reconcile.preview import submission_manifest
from workloads.services import read_draft

Input = Mapping[str, str]


@dataclass(slots=True)
class DraftPage:
    """The submission page. `fields` is None where the document cannot be shown as a form (then YAML is shown)."""

    projects: Sequence[Project]
    project: Project
    pools: Sequence[NodePool]
    pool: NodePool
    source: str
    view: str
    blueprint: str = DEFAULT
    fields: Fields | None = None
    checks: tuple[Check, ...] = ()
    manifest: str = ""
    gpus: Any = None
    submission: Submission | None = field(default=None)

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels of the pool's topology, broadest first."""
        topology = self.pool.network_topology
        return tuple(topology.levels) if topology else ()

    @property
    def blocking(self) -> tuple[Check, ...]:
        """Checks that keep it from being submitted."""
        return tuple(check for check in self.checks if check.status == "bad")

    @property
    def notes(self) -> tuple[Check, ...]:
        """Checks that say something, what blocks first."""
        order = {"bad": 0, "wait": 1, "info": 2}
        said = (check for check in self.checks if check.status in order)
        return tuple(sorted(said, key=lambda check: order[check.status]))

    @property
    def problems(self) -> list[dict[str, Any]]:
        """What the editor marks, by line."""
        return marks_of(self.checks)

    @property
    def source_id(self) -> str:
        """Where a check's line is jumped to; empty where the form is shown."""
        return "" if self.view == "form" and self.fields else "draft-source"

    @property
    def passed(self) -> int:
        """How many checks passed in silence."""
        return sum(check.status == "ok" for check in self.checks)


def marks_of(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """The checks that say something, as the editor marks their lines: what blocks comes last, so that it wins."""
    order = {"info": 0, "wait": 1, "bad": 2}
    said = sorted((check for check in checks if check.line and check.status in order), key=lambda c: order[c.status])
    return [{"line": check.line, "status": check.status, "text": check.message} for check in said]


def read_page(user: User, data: Input) -> DraftPage:
    """The page that the input describes, checked. Raises `NotPermitted` where the viewer may submit nowhere."""
    projects = selectors.projects_to_submit_to(user)
    if not projects:
        raise NotPermitted("workloads:create")
    project = _chosen(projects, data.get("project", ""))
    pools = selectors.pools_of(project)
    if not pools:
        raise NotFound(_("The cluster of this project has no node pool yet."))
    # An editor that somebody emptied is an empty document, and no wish for a template.
    source = data["source"].replace("\r\n", "\n") if "source" in data else blueprint(data.get("blueprint", DEFAULT))
    if data.get("action") == "blueprint":
        source = blueprint(data.get("blueprint", ""))
    page = DraftPage(projects, project, pools, pools[0], source, data.get("view", "form"))
    page.blueprint = data.get("blueprint", DEFAULT)
    _fill(page, data)
    if data.get("project") and str(project.pk) != data["project"]:
        gone = _("the project that was chosen is not there any more; this is another one")
        page.checks = (Check("ProjectGone", "bad", "project", gone), *page.checks)
    return page


def _chosen(projects: Sequence[Project], pk: str) -> Project:
    return next((project for project in projects if str(project.pk) == pk), projects[0])


def _fill(page: DraftPage, data: Input) -> None:
    """Put the form's fields into the document, read it back, and check it."""
    try:
        document = documents.load(page.source)
        fields = fields_of(document)
        if "role-0-name" in data and data.get("action") != "blueprint":
            page.source = documents.edit(page.source, changes_of(document, _posted(page, fields, data)))
        elif fields.namespace and fields.namespace != page.project.namespace and data.get("view", "form") == "form":
            wanted = replace(fields, namespace=page.project.namespace)
            page.source = documents.edit(page.source, changes_of(document, wanted))
        page.fields = fields_of(documents.load(page.source))
    except InvalidInput as error:
        page.view = "yaml"
        page.checks = as_checks("Document", with_lines(error, page.source).faults)
        return
    _check(page)


def _posted(page: DraftPage, now: Fields, data: Input) -> Fields:
    """The form as posted. Levels that the chosen pool does not have are dropped: no stale option can be sent."""
    pool = next((pool for pool in page.pools if pool.name == data.get("node_pool")), None)
    pool = pool or next((pool for pool in page.pools if pool.name == (now.node_pool or "default")), page.pools[0])
    levels = pool.network_topology.levels if pool.network_topology else []
    required, preferred = data.get("required_level", ""), data.get("preferred_level", "")
    required, preferred = required if required in levels else "", preferred if preferred in levels else ""
    named = pool.network_topology.name if pool.network_topology and (required or preferred) else ""
    quota, _parent = quotas_of(page.project, pool)
    return replace(
        now,
        name=data.get("name", now.name).strip(),
        node_pool=pool.shard,
        topology=named,
        required=required,
        preferred=preferred,
        priority_class=data.get("priority_class", now.priority_class).strip(),
        preemptibility=data.get("preemptibility", now.preemptibility),
        namespace=page.project.namespace,
        queue=quota.queue_name if quota else "",
        roles=tuple(_role(index, role, data) for index, role in enumerate(now.roles)),
    )


def _role(index: int, role: RoleFields, data: Input) -> RoleFields:
    if data.get(f"role-{index}-name") != role.name:
        return role
    return RoleFields(
        role.name,
        data.get(f"role-{index}-replicas", role.replicas).strip(),
        data.get(f"role-{index}-gpus", role.gpus).strip(),
        data.get(f"role-{index}-args", role.args),
    )


def _check(page: DraftPage) -> None:
    try:
        draft = read_draft(project=page.project, source=page.source)
    except InvalidInput as error:
        page.checks = as_checks("Document", error.faults)
        return
    page.submission = draft.submission
    page.pool = draft.submission.pool
    page.gpus = draft.submission.graph.gpus
    page.checks, page.manifest = check_and_preview(draft.submission)


def check_and_preview(submission: Submission) -> tuple[tuple[Check, ...], str]:
    """Every check, and the manifest that would be applied; empty where it cannot be rendered."""
    checks = check_submission(submission)
    if any(check.code == "Field" for check in checks):
        return checks, ""  # rendering relies on fields of the right type
    manifest, faults = _preview(submission)
    return (*checks, *named(faults, submission.source)), manifest


def _preview(submission: Submission) -> tuple[str, tuple[Check, ...]]:
    """The manifest that would be applied, as YAML, or why it cannot be rendered."""
    try:
        manifest = submission_manifest(submission)
    except InvalidInput as error:
        return "", as_checks("Version", error.faults)
    return dump(manifest) if manifest else "", ()
