"""Reads what the pages of node pools and topologies send; services decide what is allowed."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster
from core.errors import InvalidInput
from topology.models import NetworkTopology, NodePool, PlacementStrategy
from topology.rules import new_pool_faults
from topology.services import NodePoolChanges

# Fields of services' faults → fields of the form.
_FIELDS = {
    "name": "name",
    "labelKey": "label_key",
    "labelValue": "label_value",
    "networkTopologyId": "network_topology",
    "gpuPlacementStrategy": "gpu_placement_strategy",
    "cpuPlacementStrategy": "cpu_placement_strategy",
    "minGuaranteedRuntime": "min_guaranteed_runtime",
}


def add_faults(form: forms.Form, error: InvalidInput) -> None:
    """Show a service's faults beside their fields."""
    for fault in error.faults:
        field = _FIELDS.get(fault.field)
        form.add_error(field if field in form.fields else None, fault.sentence)


class NodePoolSettingsForm(forms.Form):
    """What can be said of a pool that exists."""

    label_key = forms.CharField(
        label=_("Node label key"), max_length=317, required=False, help_text=_("such as example.com/pool")
    )
    label_value = forms.CharField(label=_("Node label value"), max_length=63, required=False)
    network_topology = forms.ModelChoiceField(
        label=_("Network topology"),
        queryset=NetworkTopology.objects.none(),
        required=False,
        empty_label=_("none"),
        help_text=_("Workloads get a preferred placement at its closest level."),
    )
    gpu_placement_strategy = forms.ChoiceField(
        label=_("GPU workloads"), choices=PlacementStrategy.choices, required=False
    )
    cpu_placement_strategy = forms.ChoiceField(
        label=_("CPU workloads"), choices=PlacementStrategy.choices, required=False
    )
    min_guaranteed_runtime = forms.CharField(
        label=_("Minimum runtime"),
        max_length=64,
        required=False,
        help_text=_("Before a preemptible workload may be evicted: 30m, 8h40m, 2d; empty is none."),
    )

    def __init__(self, *args: Any, cluster: Cluster | None = None, pool: NodePool | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["network_topology"]
        if cluster is not None and isinstance(field, forms.ModelChoiceField):
            field.queryset = NetworkTopology.objects.filter(cluster=cluster, deletion_requested_at=None)
        if pool is not None and pool.is_default:
            for name in set(self.fields) - {"network_topology"}:
                del self.fields[name]

    def changes(self) -> NodePoolChanges:
        """The cleaned fields as services take them."""
        found: dict[str, Any] = {}
        for name in self.fields:
            if name in NodePoolChanges.__annotations__:
                value = self.cleaned_data.get(name)
                found[name] = value.strip() if isinstance(value, str) else value
        return found  # type: ignore[return-value]  # only keys of it


class NodePoolForm(NodePoolSettingsForm):
    """A new pool."""

    name = forms.CharField(label=_("Name"), max_length=63, help_text=_("a–z, 0–9 and “-”, letter first, up to 63"))

    field_order = ("name", "network_topology", "label_key", "label_value")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("label_key", "label_value"):
            self.fields[name].required = True

    def clean(self) -> dict[str, Any]:
        """What is wrong with its name and label is told beside what is missing, not after it."""
        cleaned: dict[str, Any] = super().clean() or {}
        given = [cleaned.get(name) for name in ("name", "label_key", "label_value")]
        faults = new_pool_faults(*(text or "" for text in given))
        if faults := [fault for fault in faults if _FIELDS[fault.field] in cleaned]:
            add_faults(self, InvalidInput(faults))
        return cleaned
