"""Reads what the pages of departments and projects send; services decide what is allowed.

The quota matrix is a table of text fields, `<pool id>-<column>`, in the units of people: GPUs, cores, GB; "unlimited"
or −1 is no bound. What was typed is shown again beside what is wrong with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.stored_now import Path, StoredNow, Viewer, stored_now
from core.errors import Fault, InvalidInput
from core.form_fields import LinesField
from organizations.models import Department, Project, Quota
from organizations.quota import (
    BOUNDS,
    DEFAULTS,
    HIGHEST_PRIORITY,
    RESOURCES,
    UNLIMITED,
    in_unit,
    read_amount,
    read_weight,
)
from organizations.rules import DESCRIPTION_LENGTH, NAME_LENGTH, description_faults, name_faults, namespace_faults
from organizations.secrets import SecretKind
from organizations.selectors import UNITS, Capacity, capacities, to_people
from organizations.services import QuotaInput
from topology.models import NodePool

_FIELDS = {"requestedNamespace": "namespace"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of the matrix: its name, what stands in it, what is wrong with it; what is stored, and where the audit
    log has it; the same with its writer, where somebody else saved it meanwhile."""

    name: str
    value: str
    label: str
    error: str = ""
    stored: str = ""
    path: Path = ()
    stored_now: StoredNow | None = None

    @property
    def differs(self) -> bool:
        """Whether what stands there is another amount than the stored one."""
        try:
            return self.value != self.stored and _amount(self.value) != _amount(self.stored)
        except InvalidInput:
            return True


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One resource of one pool."""

    resource: str
    unit: str
    cells: tuple[Cell, ...]
    capacity: Decimal | None


@dataclass(frozen=True, slots=True)
class MatrixPool:
    """One pool of the matrix."""

    pool: NodePool
    rows: tuple[MatrixRow, ...]
    priority: Cell
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class Matrix:
    """The whole table. `inputs` are what services take; empty while `errors` are there."""

    pools: tuple[MatrixPool, ...]
    inputs: tuple[QuotaInput, ...]
    errors: Mapping[str, str]

    @property
    def has_errors(self) -> bool:
        """Whether a field can't be read."""
        return bool(self.errors)

    @property
    def differing(self) -> list[Cell]:
        """The fields that say something else than what is stored."""
        cells = [cell for pool in self.pools for row in pool.rows for cell in row.cells]
        return [cell for cell in (*cells, *(pool.priority for pool in self.pools)) if cell.differs]


def read_matrix(
    pools: Sequence[NodePool], data: Mapping[str, Any] | None, owner: Department | Project | None
) -> Matrix:
    """The matrix of `pools`: from what was sent, else from the owner's rows, else the defaults."""
    rows = {quota.node_pool_id: quota for quota in owner.quotas.all()} if owner and owner.pk else {}
    errors: dict[str, str] = {}
    inputs = []
    if data is not None:
        inputs = [_read_pool(pool, data, errors) for pool in pools if f"{pool.pk}-gpu_deserved" in data]
    capacity = capacities(pools)
    drawn = tuple(_draw(pool, rows.get(pool.pk), data, errors, capacity[pool.pk]) for pool in pools)
    return Matrix(drawn, () if errors else tuple(inputs), errors)


def with_stored(matrix: Matrix, viewer: Viewer, owner: Department | Project) -> Matrix:
    """The matrix with what is stored now beside each amount that differs."""
    found = stored_now(viewer, owner, {cell.path: cell.stored for cell in matrix.differing})

    def beside(cell: Cell) -> Cell:
        return replace(cell, stored_now=found.get(cell.path))

    def row(row: MatrixRow) -> MatrixRow:
        return replace(row, cells=tuple(map(beside, row.cells)))

    pools = (replace(p, rows=tuple(map(row, p.rows)), priority=beside(p.priority)) for p in matrix.pools)
    return replace(matrix, pools=tuple(pools))


def _read_pool(pool: NodePool, data: Mapping[str, Any], errors: dict[str, str]) -> QuotaInput:
    amounts: dict[str, Decimal] = {}
    for resource in RESOURCES:
        for bound in BOUNDS:
            name = f"{pool.pk}-{resource}_{bound}"
            try:
                amounts[f"{resource}_{bound}"] = _read(str(data.get(name, "")), resource, bound)
            except InvalidInput as error:
                errors[name] = error.faults[0].sentence
    name = f"{pool.pk}-priority"
    text = str(data.get(name, "")).strip()
    priority = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
    if priority is None or priority > HIGHEST_PRIORITY:
        errors[name] = _("A whole number from 0 to %(most)d is required") % {"most": HIGHEST_PRIORITY}
    return QuotaInput(pool, amounts, priority)


def _read(text: str, resource: str, bound: str) -> Decimal:
    if bound == "weight":
        return read_weight(text, bound, text=True)
    return in_unit(read_amount(text, bound, text=True), UNITS[resource][0], bound)


def _amount(text: str) -> Decimal:
    return read_amount(text, "", text=True)


def _draw(
    pool: NodePool, row: Quota | None, data: Mapping[str, Any] | None, errors: Mapping[str, str], capacity: Capacity
) -> MatrixPool:
    def cell(column: str, stored: str, label: str) -> Cell:
        name = f"{pool.pk}-{column}"
        value = str(data[name]) if data is not None and name in data else stored
        path = ("resources", pool.name, column)
        return Cell(name, value, f"{pool.name}: {label}", errors.get(name, ""), stored, path)

    def stored(resource: str, bound: str) -> str:
        column = f"{resource}_{bound}"
        amount = getattr(row, column) if row else DEFAULTS[column]
        if bound == "weight":
            return f"{amount.normalize():f}"
        return _("unlimited") if amount == UNLIMITED else f"{to_people(resource, amount).normalize():f}"

    names = {"gpu": "GPU", "cpu": "CPU", "memory": _("Memory")}
    words = {"deserved": _("deserved"), "limit": _("limit"), "weight": _("weight")}
    rows = tuple(
        MatrixRow(
            resource,
            UNITS[resource][1],
            tuple(cell(f"{resource}_{b}", stored(resource, b), f"{names[resource]} {words[b]}") for b in BOUNDS),
            capacity.shown(resource),
        )
        for resource in RESOURCES
    )
    return MatrixPool(pool, rows, cell("priority", str(row.priority if row else 100), _("priority")), capacity)


class DepartmentForm(forms.Form):
    """A new department."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=NAME_LENGTH,
        help_text=gettext_lazy("a–z, 0–9 and “-”, letter first, up to 40"),
    )
    description = LinesField(label=gettext_lazy("Description"), max_length=DESCRIPTION_LENGTH, required=False)

    def clean(self) -> dict[str, Any]:
        """What is wrong with its own fields is told beside what is wrong with the quota, not after it."""
        cleaned: dict[str, Any] = super().clean() or {}
        if faults := self.faults_of(cleaned):
            add_faults(self, InvalidInput(faults))
        return cleaned

    def faults_of(self, given: Mapping[str, Any]) -> list[Fault]:
        """What breaks a rule, of the fields that could be read."""
        name = name_faults(given["name"]) if "name" in given else []
        return [*name, *description_faults(given.get("description", ""))]


class ProjectForm(DepartmentForm):
    """A new project."""

    department = forms.ModelChoiceField(
        label=gettext_lazy("Department"), queryset=Department.objects.none(), empty_label=None
    )
    namespace = forms.CharField(
        label=gettext_lazy("Namespace"),
        max_length=63,
        required=False,
        help_text=gettext_lazy("Empty: runai- and the project’s name."),
    )
    adopts_namespace = forms.BooleanField(
        label=gettext_lazy("Use the existing namespace of this name; it stays when the project goes"), required=False
    )

    field_order = ("name", "department", "namespace", "description", "adopts_namespace")

    def faults_of(self, given: Mapping[str, Any]) -> list[Fault]:
        """The same, and its namespace."""
        namespace = given.get("namespace", "")
        return [*super().faults_of(given), *(namespace_faults(namespace) if namespace else [])]


class DescriptionForm(forms.Form):
    """What can be said of a department or project that exists, besides its quota."""

    description = LinesField(label=gettext_lazy("Description"), max_length=DESCRIPTION_LENGTH, required=False)


class SecretForm(forms.Form):
    """A secret of a project: one form for the three kinds."""

    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=SecretKind.choices)
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=253,
        required=False,
        help_text=gettext_lazy("Not needed for a Hugging Face token: it is written as hf-token-secret and hf-token."),
    )
    token = forms.CharField(
        label=gettext_lazy("Token"), required=False, widget=forms.PasswordInput(attrs={"autocomplete": "off"})
    )
    server = forms.CharField(label=gettext_lazy("Registry"), required=False, help_text="nvcr.io")
    username = forms.CharField(
        label=gettext_lazy("User name"), required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label=gettext_lazy("Password"), required=False, widget=forms.PasswordInput(attrs={"autocomplete": "off"})
    )
    content = forms.CharField(
        label=gettext_lazy("Keys and values"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("KEY=value, one a line"),
    )

    def fields_of_kind(self) -> dict[str, str]:
        """What services take for the chosen kind."""
        kind, data = self.cleaned_data["kind"], self.cleaned_data
        if kind == SecretKind.HUGGING_FACE:
            return {"token": data["token"]}
        if kind == SecretKind.REGISTRY:
            return {name: data[name] for name in ("server", "username", "password")}
        lines = [line.partition("=") for line in data["content"].splitlines() if line.strip()]
        return {key.strip(): value for key, _equals, value in lines}


def add_faults(form: forms.Form, error: InvalidInput) -> None:
    """Show a service's faults beside their fields."""
    for fault in error.faults:
        field = _FIELDS.get(fault.field, fault.field)
        form.add_error(field if field in form.fields else None, fault.sentence)
