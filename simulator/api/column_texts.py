"""Column definitions of Tables, with what the columns say about themselves: the words of the fields they show."""

from collections.abc import Mapping
from functools import cache

from simulator.api.core_kinds import definitions
from simulator.api.resources import Column, Resource
from simulator.api.tables import columns_of
from simulator.client import Object

# plural -> column -> its own words, or the model and field whose description it shows
_SOURCES: Mapping[str, Mapping[str, str | tuple[str, str]]] = {
    "pods": {
        "Ready": "The aggregate readiness state of this pod for accepting traffic.",
        "Status": "The aggregate status of the containers in this pod.",
        "Restarts": (
            "The number of times the containers in this pod have been restarted and when the last container in this "
            "pod has restarted."
        ),
        "IP": ("V1PodStatus", "podIP"),
        "Node": ("V1PodSpec", "nodeName"),
        "Nominated Node": ("V1PodStatus", "nominatedNodeName"),
        "Readiness Gates": ("V1PodSpec", "readinessGates"),
    },
    "configmaps": {"Data": ("V1ConfigMap", "data")},
}
_ALWAYS = {"Name": ("V1ObjectMeta", "name"), "Age": ("V1ObjectMeta", "creationTimestamp")}


def table_columns(resource: Resource) -> list[Object]:
    """`columnDefinitions`."""
    columns = [Column("Name", lambda body: body["metadata"]["name"], format="name"), *columns_of(resource)]
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": _description(resource, column),
            "priority": column.priority,
        }
        for column in columns
    ]


def _description(resource: Resource, column: Column) -> str:
    """The column's own words, else those of its field; "" where nobody gave any."""
    if column.description:
        return column.description
    if resource.custom and column.name == "Age":
        return "Custom resource definition column (in JSONPath format): .metadata.creationTimestamp"
    source = _SOURCES.get(resource.kind.plural, {}).get(column.name) or _ALWAYS.get(column.name, "")
    return source if isinstance(source, str) else _field(source)


@cache
def _field(source: tuple[str, str]) -> str:
    model, name = source
    text = str(definitions()[model]["properties"][name].get("description", ""))
    return text.replace("  ", "\n\n")
