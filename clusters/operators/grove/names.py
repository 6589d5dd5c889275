"""Names, labels and annotation keys that Grove gives to what it makes. Pure."""

QUEUE_LABEL = "kai.scheduler/queue"
SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"
SUBGROUP_LABEL = "kai.scheduler/subgroup-name"
POD_GROUP_ANNOTATION = "pod-group-name"

PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"
COMPONENT = "app.kubernetes.io/component"
NAME = "app.kubernetes.io/name"
OPERATOR = "grove-operator"

POD_GANG = "grove.io/podgang"
BASE_POD_GANG = "grove.io/base-podgang"
POD_CLIQUE = "grove.io/podclique"
POD_INDEX = "grove.io/podclique-pod-index"
SCALING_GROUP = "grove.io/podcliquescalinggroup"
SCALING_GROUP_INDEX = "grove.io/podcliquescalinggroup-replica-index"
SET_INDEX = "grove.io/podcliqueset-replica-index"
TEMPLATE_HASH = "grove.io/pod-template-hash"
SCHEDULER_NAME = "grove.io/scheduler-name"
TOPOLOGY_NAME = "grove.io/topology-name"

GATE = "grove.io/podgang-pending-creation"
SET_FINALIZER = "grove.io/podcliqueset.grove.io"
CLIQUE_FINALIZER = "grove.io/podclique.grove.io"
SCALING_GROUP_FINALIZER = "grove.io/podcliquescalinggroup.grove.io"

KAI_SCHEDULER = "kai-scheduler"


def replica_name(set_name: str, replica: int) -> str:
    """Base PodGang and headless service of one PodCliqueSet replica."""
    return f"{set_name}-{replica}"


def clique_name(set_name: str, replica: int, clique: str) -> str:
    """PodClique outside of scaling groups."""
    return f"{set_name}-{replica}-{clique}"


def scaling_group_name(set_name: str, replica: int, group: str) -> str:
    return f"{set_name}-{replica}-{group}"


def member_clique_name(scaling_group: str, group_replica: int, clique: str) -> str:
    """PodClique of one replica of a scaling group (`scaling_group` is its full name)."""
    return f"{scaling_group}-{group_replica}-{clique}"


def scaled_gang_name(scaling_group: str, group_replica: int, min_available: int) -> str:
    """PodGang of a replica above minAvailable: counted from 0 again (golden/grove/04: replica 1 is `one-0-sg-0`)."""
    return f"{scaling_group}-{group_replica - min_available}"


def default_labels(set_name: str) -> dict[str, str]:
    return {MANAGED_BY: OPERATOR, PART_OF: set_name}
