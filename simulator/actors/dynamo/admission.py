"""What the Dynamo operator's validating webhook refuses on create (dynamo.md §2.6), as far as it concerns us. Pure."""

from collections.abc import Container, Mapping

from clusters.operators.dynamo.graph import Graph, GraphError, read_graph
from clusters.operators.dynamo.render import NAME_BUDGET
from simulator.client import Object


def refusal(dgd: Object, domains: Mapping[str, Container[str]]) -> str:
    """Why the graph is refused, "" when it is not. `domains`: domain names per ClusterTopologyBinding."""
    try:
        graph = read_graph(dgd)
        for component in graph.components:
            if not component.main.get("image"):
                return f"component {component.name}: container main needs an image"
    except GraphError as error:
        return str(error)
    if not graph.components:
        return "spec.components: at least one component is needed"
    return _name_refusal(graph) or _topology_refusal(graph, domains)


def _name_refusal(graph: Graph) -> str:
    if not graph.uses_grove:
        return ""
    for component in graph.components:
        length = len(graph.name) + len(component.name)
        if length > NAME_BUDGET:
            return (
                f"component {component.name}: name of the graph and of the component have {length} characters "
                f"together, at most {NAME_BUDGET} are possible"
            )
    return ""


def _topology_refusal(graph: Graph, domains: Mapping[str, Container[str]]) -> str:
    asked = [component.pack_domain for component in graph.components if component.pack_domain]
    if not graph.topology:
        if asked:
            return "a component's topologyConstraint needs spec.topologyConstraint.clusterTopologyName"
        return ""
    if graph.topology not in domains:
        return f"spec.topologyConstraint.clusterTopologyName: ClusterTopologyBinding {graph.topology} not found"
    if not asked and not graph.pack_domain:
        return "spec.topologyConstraint.packDomain is needed when no component has one"
    for domain in [graph.pack_domain, *asked]:
        if domain and domain not in domains[graph.topology]:
            return f"topologyConstraint.packDomain: {graph.topology} has no domain {domain}"
    return ""
