"""The lists of what others made in a cluster: what can be taken over, and what was."""

from django.utils.translation import gettext_lazy as _

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_QUEUE, KAI_TOPOLOGY
from core.filters import Filter
from core.tables import Column, TableSpec

CANDIDATES = TableSpec(
    name="objects-of-others",
    row_template="controlplane/adopt.html#row",
    empty_template="controlplane/adopt.html#empty",
    bulk_template="controlplane/adopt.html#bulk",
    topics=("clusters.ClusterObject",),
    columns=(
        Column(key="name", label=_("Name"), sort=("name", "plural"), csv=lambda row: row.label),
        Column(key="kind", label=_("Kind"), sort=("plural", "name"), csv=lambda row: row.kind.kind),
        Column(key="made_by", label=_("Made by"), sort=("made_by", "name"), csv=lambda row: row.found.made_by),
        Column(key="becomes", label=_("Becomes"), csv=lambda row: f"{row.becomes} {row.name}"),
        Column(key="blocked", label=_("Why not"), sort=("state", "name"), grow=True),
    ),
    default_sort="kind",
    search=("name", "namespace", "made_by"),
    search_label=_("Name, namespace, made by"),
    filters=(
        Filter(
            key="state",
            label=_("Can be taken over"),
            kind="choice",
            choices=(("free", _("yes")), ("blocked", _("no"))),
        ),
        Filter(
            key="kind",
            label=_("Kind"),
            kind="choice",
            lookup="plural",
            choices=tuple((kind.plural, kind.kind) for kind in (KAI_QUEUE, KAI_TOPOLOGY, DYNAMO_GRAPH_DEPLOYMENT)),
        ),
        Filter(key="name", label=_("Name")),
        Filter(key="made_by", label=_("Made by")),
    ),
)

TAKEN = TableSpec(
    name="taken-over",
    row_template="controlplane/adopted.html#row",
    empty_template="controlplane/adopted.html#empty",
    topics=("topology.NetworkTopology", "organizations.Department", "organizations.Project", "workloads.Workload"),
    columns=(
        Column(key="name", label=_("Name"), sort=("name", "kind"), csv=lambda row: row.label),
        Column(key="kind", label=_("Kind"), sort=("kind", "name"), csv=lambda row: row.adoption.kind),
        Column(key="row", label=_("Belongs to"), csv=lambda row: str(row.row or "")),
        Column(key="made_by", label=_("Made by"), sort=("made_by", "name"), csv=lambda row: row.adoption.made_by),
        Column(key="by", label=_("Taken over by"), sort=("by", "name"), csv=lambda row: row.adoption.by, grow=True),
        Column(key="state", label=_("State"), sort=("state", "taken_at"), csv=lambda row: row.adoption.state),
        Column(key="taken_at", label=_("Since"), sort=("taken_at",), csv=lambda row: row.adoption.taken_at),
        Column(key="release", label=""),
    ),
    default_sort="name",
    search=("name", "namespace", "made_by", "by"),
    search_label=_("Name, namespace, made by, taken over by"),
    filters=(
        Filter(
            key="state",
            label=_("State"),
            kind="choice",
            choices=(
                ("Adopting", _("being taken over")),
                ("Adopted", _("taken over")),
                ("Releasing", _("being given back")),
            ),
        ),
        Filter(
            key="kind",
            label=_("Kind"),
            kind="choice",
            choices=tuple(
                (k.kind, k.kind)
                for k in (KAI_QUEUE, KAI_TOPOLOGY, GROVE_CLUSTER_TOPOLOGY_BINDING, DYNAMO_GRAPH_DEPLOYMENT)
            ),
        ),
        Filter(key="name", label=_("Name")),
        Filter(key="made_by", label=_("Made by")),
    ),
)
