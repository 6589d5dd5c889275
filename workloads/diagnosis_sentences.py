"""Titles and sentences of causes, and of the acts that would help, by code. No logic."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

CAUSES: Mapping[str, tuple[str | Promise, str | Promise]] = {
    "Refused": (_("Refused"), _("The cluster or Muster refuses it: %(message)s")),
    "KindNotServed": (
        _("Kind not served"),
        _("The cluster does not serve %(kind)s: %(component)s is not installed, or not in a version with it."),
    ),
    "WebhookDown": (
        _("A webhook is down"),
        _("A webhook of the cluster does not answer, so it refuses every change: %(message)s"),
    ),
    "NotSynced": (_("Not written to the cluster"), _("Muster could not write it to the cluster: %(message)s")),
    "QueueRefused": (
        _("Queue unknown to the operator"),
        _("The Dynamo operator makes no pods: queue %(queue)s does not exist in the cluster."),
    ),
    "NoPods": (_("No pod yet"), _("The Dynamo operator has made none of its %(pods)s pods yet.")),
    "NoReplicas": (
        _("No replicas"),
        _("Its graph has 0 replicas of every role, so it has no pods. It starts once every role has one."),
    ),
    "ComponentMissing": (
        _("Not installed"),
        _("%(component)s is not installed in the cluster; it is needed for this."),
    ),
    "ComponentDown": (
        _("Component down"),
        _("%(part)s of %(component)s is down: %(ready)s of %(wanted)s ready (%(object)s)."),
    ),
    "Unreadable": (
        _("Unreadable object"),
        _("%(object)s has a value that the scheduler cannot read, so that it sees no object of the kind at all."),
    ),
    "QueueNotArrived": (
        _("Queue did not arrive"),
        _("Its pod group has queue %(found)s where %(wanted)s was asked for."),
    ),
    "PlacementNotArrived": (
        _("Placement did not arrive"),
        _("Its pod group has the placement %(found)s where %(wanted)s was asked for."),
    ),
    "NodeLost": (
        _("Node lost"),
        _("Pods stood on nodes that are gone: %(nodes)s. The members on them are missing from the gang."),
    ),
    "NotGrouped": (
        _("Not grouped"),
        _("Pods that belong to no pod group: %(pods)s. No scheduler looks at them."),
    ),
    "Grouping": (
        _("Pods are being grouped"),
        _(
            "Its %(pods)s pods were made less than %(grace)s seconds ago. The scheduler sees a pod only once it is in a"
            " pod group. Nothing is wrong so far."
        ),
    ),
    "Making": (
        _("Pods are being made"),
        _(
            "It was written less than %(grace)s seconds ago and waits for the Dynamo operator to make its %(pods)s"
            " pods. Nothing is wrong so far."
        ),
    ),
    "SecretMissing": (
        _("Secret missing"),
        _("Pod %(pod)s does not start: %(kind)s %(object)s does not exist in its namespace."),
    ),
    "ImageMissing": (_("Image not pulled"), _("Pod %(pod)s does not start: its image cannot be pulled (%(fault)s).")),
    "Container": (_("Container fails"), _("Pod %(pod)s does not start: %(fault)s.")),
    "StartupOrder": (
        _("Waits for its turn"),
        _("Pod %(pod)s has its node and waits until the roles before it in the startup order are ready."),
    ),
    "PoolWrong": (
        _("Wrong node pool"),
        _("Its pod group belongs to node pool %(pool)s and was meant for %(wanted)s: the pool’s label did not arrive."),
    ),
    "ShardMissing": (
        _("No scheduler for the pool"),
        _("No scheduler runs for node pool %(pool)s: there is no scheduling shard with this value."),
    ),
    "SchedulerHangs": (
        _("The scheduler hangs"),
        _("Queues %(queues)s are parents of each other and a pod waits in them: the scheduler places nothing at all."),
    ),
    "QueueUnset": (_("No queue"), _("Its pod group names no queue.")),
    "QueueMissing": (_("Queue missing"), _("Queue %(queue)s does not exist in the cluster.")),
    "QueueOtherPool": (
        _("Queue of another pool"),
        _("Queue %(queue)s belongs to node pool %(queuePool)s, so the scheduler of pool %(pool)s does not know it."),
    ),
    "QueueParentMissing": (
        _("Parent queue missing"),
        _("Queue %(queue)s, the parent of %(child)s, does not exist: the scheduler ignores every queue below it."),
    ),
    "QueueNotLeaf": (
        _("Queue has queues below it"),
        _("Queue %(queue)s has queues below it (%(children)s); only a queue without any can run work."),
    ),
    "BackedOff": (
        _("Left alone after a failure"),
        _("It failed once in node pool %(pool)s and asked for one try only: the scheduler does not look at it again."),
    ),
    "SubGroupUnknown": (
        _("Unknown subgroup"),
        _("Pods that name subgroup %(subgroup)s: %(pods)s. The pod group has %(known)s."),
    ),
    "ScaledBelowMinimum": (
        _("Scaled below its minimum"),
        _("The gang starts with %(needed)s pods of %(role)s, and its graph asks for fewer: it never starts."),
    ),
    "PodsMissing": (
        _("Pods are missing"),
        _(
            "Pods of %(role)s that exist: %(found)s of the %(needed)s that must start together. The scheduler waits for"
            " the rest."
        ),
    ),
    "PodsGated": (
        _("Pods are gated"),
        _(
            "Gated pods of %(role)s: %(gated)s of %(found)s. Grove holds them back until their gang is complete, and"
            " replicas beyond the minimum until the first ones run."
        ),
    ),
    "OverLimit": (
        _("Over the limit"),
        _(
            "The limit of queue %(queue)s is %(bound)s %(resource)s; %(held)s are held and this asks for %(asked)s:"
            " %(short)s too many."
        ),
    ),
    "NonPreemptibleOverQuota": (
        _("Over the quota"),
        _(
            "It is not preemptible, so it must fit the quota of queue %(queue)s: %(bound)s %(resource)s, of which"
            " %(held)s are held by others that are not preemptible; it asks for %(asked)s, %(short)s too many."
        ),
    ),
    "TopologyMissing": (
        _("Topology missing"),
        _("The cluster has no topology %(topology)s, so nothing that names it can be placed. There are: %(known)s."),
    ),
    "LevelUnset": (
        _("Topology without a level"),
        _("It names topology %(topology)s and no level of it: the scheduler never places that."),
    ),
    "LevelUnknown": (
        _("Unknown level"),
        _("Topology %(topology)s has no level %(level)s. Its levels are %(known)s; upper and lower case count."),
    ),
    "LevelsReversed": (
        _("Preferred above required"),
        _("It prefers %(preferred)s, which is broader than the required %(required)s: that is never placed."),
    ),
    "PoolEmpty": (_("Empty node pool"), _("Node pool %(pool)s has no node.")),
    "DevicesUnhealthy": (
        _("GPUs unhealthy"),
        _("GPUs that are unhealthy and cannot be allocated: %(gpus)s. With them it would run."),
    ),
    "DevicesUnhealthyAmongOthers": (
        _("GPUs unhealthy"),
        _(
            "GPUs that are unhealthy and cannot be allocated: %(gpus)s. With them and the other causes gone it would"
            " run."
        ),
    ),
    "PodTooLarge": (
        _("Pod larger than any node"),
        _("One pod asks for %(asked)s %(resource)s; the largest node that could hold the rest of it has %(largest)s."),
    ),
    "NodesNotReady": (
        _("Nodes not ready"),
        _("Nodes that are not ready: %(nodes)s, with %(gpus)s GPUs. With them it would run."),
    ),
    "NodesNotReadyAmongOthers": (
        _("Nodes not ready"),
        _("Nodes that are not ready: %(nodes)s, with %(gpus)s GPUs. With them and the other causes gone it would run."),
    ),
    "NodesCordoned": (
        _("Nodes cordoned"),
        _("Nodes that are cordoned: %(nodes)s, with %(gpus)s GPUs. With them it would run."),
    ),
    "NodesCordonedAmongOthers": (
        _("Nodes cordoned"),
        _("Nodes that are cordoned: %(nodes)s, with %(gpus)s GPUs. With them and the other causes gone it would run."),
    ),
    "NodesCordonedCounted": (
        _("Nodes cordoned"),
        _(
            "Nodes that are cordoned: %(nodes)s, with %(gpus)s GPUs. With them it would run. The scheduler counts them"
            " as room of their domain and then finds that they take no pods."
        ),
    ),
    "NodesCordonedCountedAmongOthers": (
        _("Nodes cordoned"),
        _(
            "Nodes that are cordoned: %(nodes)s, with %(gpus)s GPUs. With them and the other causes gone it would run."
            " The scheduler counts them as room of their domain and then finds that they take no pods."
        ),
    ),
    "NodesTainted": (
        _("Nodes tainted"),
        _("Nodes with a taint that its pods do not tolerate: %(nodes)s, with %(gpus)s GPUs (%(notes)s)."),
    ),
    "NodesUnlabelled": (
        _("Nodes outside the topology"),
        _(
            "Nodes without a label of topology %(topology)s (%(labels)s): %(nodes)s of %(of)s. They take no pod that"
            " names a level, not even one that only prefers it."
        ),
    ),
    "SelectorMatchesTooFew": (
        _("Node selector matches too few"),
        _("Its node selector %(key)s=%(value)s matches %(nodes)s of %(of)s nodes. Values there are: %(values)s."),
    ),
    "SelectorMatchesTooFewNone": (
        _("Node selector matches too few"),
        _("Its node selector %(key)s=%(value)s matches no node: none of the %(of)s nodes has the label %(key)s."),
    ),
    "SelectorMatchesTooFewTerms": (
        _("Node selector matches too few"),
        _("Its node affinity (%(key)s) matches %(nodes)s of %(of)s nodes."),
    ),
    "OtherPodsTerms": (
        _("Kept away by other pods"),
        _("Its terms on other pods (per %(keys)s) leave no node for it."),
    ),
    "SingleDomain": (
        _("Known defect: one domain only"),
        _(
            "It would fit. All nodes of topology %(topology)s lie in one domain below the required %(place)s, and the"
            " scheduler then takes that %(place)s for empty of room (KAI, up to v0.17 at least)."
        ),
    ),
    "UnequalPods": (
        _("Known defect: unequal pods"),
        _(
            "It would fit: its %(pods)s pods ask for %(asked)s GPUs. They are of unequal size, and the scheduler counts"
            " each as %(largest)s GPUs, %(counted)s in all."
        ),
    ),
    "Pinned": (
        _("Pinned to a full domain"),
        _(
            "Part of it stands in %(place)s %(domain)s, and the rest may go nowhere else: %(free)s GPUs are free there"
            " and it needs %(asked)s more."
        ),
    ),
    "LevelTooSmall": (
        _("Topology level too small"),
        _(
            "It asks for %(asked)s GPUs inside one %(place)s. The largest %(place)s of the pool, %(domain)s, has"
            " %(largest)s: %(short)s short. It can never start as written, however many GPUs become free."
        ),
    ),
    "PoolTooSmall": (
        _("Node pool too small"),
        _(
            "It asks for %(asked)s GPUs in %(pods)s pods at once, and the whole node pool has %(largest)s that it can"
            " use: %(short)s short. It can never start as written."
        ),
    ),
    "LevelTooSmallInPieces": (
        _("Topology level too small"),
        _(
            "Its pods of up to %(largestPod)s GPUs never fit one %(place)s: of %(pods)s at most %(fit)s fit, even where"
            " all %(largest)s GPUs are free. It can never start as written."
        ),
    ),
    "PoolTooSmallInPieces": (
        _("Node pool too small"),
        _(
            "Its pods of up to %(largestPod)s GPUs never fit node pool %(pool)s: of %(pods)s at most %(fit)s fit, even"
            " when all %(largest)s GPUs are free. It can never start as written."
        ),
    ),
    "PreemptionDelay": (
        _("May not evict others yet"),
        _("It may not evict others before %(until)s: that is its preemption delay."),
    ),
    "MinRuntime": (
        _("Others may finish their minimum"),
        _("Whom it could evict (%(groups)s) has a guaranteed running time; enough of them are past it at %(until)s."),
    ),
    "Ahead": (
        _("Others come first"),
        _("There is room for one of those that wait, and others come first: %(groups)s."),
    ),
    "LevelFull": (
        _("Topology level full"),
        _(
            "It asks for %(asked)s GPUs inside one %(place)s. The %(place)s with most room, %(domain)s, has %(free)s of"
            " %(usable)s free: %(short)s short for now."
        ),
    ),
    "LevelFragmented": (
        _("Free GPUs in pieces"),
        _(
            "It asks for %(asked)s GPUs inside one %(place)s. %(domain)s has %(free)s free, but in pieces: %(fit)s of"
            " its %(pods)s pods of up to %(largestPod)s GPUs fit."
        ),
    ),
    "PoolFull": (
        _("Node pool full"),
        _(
            "It asks for %(asked)s GPUs, and %(free)s of the %(usable)s in node pool %(pool)s are free:"
            " %(short)s short for now."
        ),
    ),
    "PoolFragmented": (
        _("Free GPUs in pieces"),
        _(
            "%(free)s GPUs of node pool %(pool)s are free, but in pieces: %(fit)s of its %(pods)s pods of up to"
            " %(largestPod)s GPUs fit."
        ),
    ),
    "Unexplained": (
        _("Not explained"),
        _("Muster finds no change that would let it run. The scheduler’s own words are below."),
    ),
}

ACTS: Mapping[str, str | Promise] = {
    "SetPool": _("Put it into node pool %(wanted)s"),
    "SetLevel": _("Name the level %(level)s"),
    "PreferAsRequired": _("Prefer the required level as well"),
    "UseTopology": _("Name topology %(topology)s"),
    "SetSelector": _("Select nodes with %(key)s=%(value)s"),
    "BroaderLevel": _("Require only one %(place)s, prefer one %(from_place)s"),
    "Prefer": _("Prefer one %(place)s instead of requiring it"),
    "FewerPods": _("%(to)s instead of %(from)s pods in %(role)s (%(gpusEach)s GPUs each)"),
    "OtherPool": _("Run it in node pool %(pool)s"),
    "MakePreemptible": _("Make it preemptible"),
    "ScaleUp": _("Scale %(role)s to %(needed)s"),
    "LowerMinimum": _("Let %(role)s start with %(to)s pods"),
    "SmallerPods": _("Ask for at most %(largest)s %(resource)s per pod"),
    "Tolerate": _("Tolerate %(taints)s"),
    "DropSelector": _("Leave out the node selector %(key)s"),
    "DropTerms": _("Leave out the terms on other pods"),
    "LabelPods": _("Label the pods with a subgroup that exists (%(known)s)"),
    "SubmitAgain": _("Submit it again, so that the scheduler looks at it"),
    "RaiseQuota": _("Raise the quota of queue %(queue)s from %(from)s to %(to)s %(resource)s"),
    "RaiseLimit": _("Raise the limit of queue %(queue)s from %(from)s to %(to)s %(resource)s"),
    "Uncordon": _("Uncordon %(nodeList)s"),
    "Untaint": _("Remove the taint %(notes)s from %(nodeList)s"),
    "LabelNodes": _("Label %(nodeList)s with %(labels)s"),
    "RepairNodes": _("Make %(nodeList)s ready again"),
    "RepairDevices": _("Repair the GPUs of %(nodeList)s"),
    "BreakCircle": _("Give one of the queues %(queues)s another parent"),
    "MakeQueue": _("Make queue %(queue)s"),
    "MoveQueue": _("Move queue %(queue)s to node pool %(pool)s"),
    "RemoveQueues": _("Remove the queues below queue %(queue)s: %(children)s"),
    "MakeShard": _("Run a scheduler for node pool %(pool)s"),
    "DropPlacement": _("Ask for no placement"),
    "WaitForPods": _("Wait until the pods of %(role)s exist"),
    "WaitForGates": _("Wait until Grove opens the gates of %(role)s"),
    "WaitUntil": _("Wait until %(until)s"),
    "WaitForEnd": _("Wait for the end of %(groups)s"),
    "WaitForOthers": _("Wait until those before it are placed: %(groups)s"),
    "End": _("End %(groups)s"),
    "AddNodes": _("Add to node pool %(pool)s nodes like its largest: %(nodesMore)s"),
    "AddFirstNodes": _(
        "Add nodes to node pool %(pool)s that hold its pods: %(pods)s, the largest of them with %(largestPod)s GPUs"
    ),
}

RULED_OUT: Mapping[str, str | Promise] = {
    "pods": _("Pods: all %(pods)s exist, none is gated"),
    "queue": _("Queue %(queue)s exists and has no queues below it"),
    "limit": _("Limit: %(held)s GPUs held + %(asked)s asked is within the %(bound)s of queue %(queue)s"),
    "limitNone": _("Limit: none for %(queues)s"),
    "quota": _("Quota: it is preemptible, so it may go beyond it"),
    "quotaFits": _("Quota: %(asked)s GPUs asked fit the quota of %(queues)s"),
    "topology": _("Topology %(topology)s exists, with the levels that are named"),
    "noTopology": _("Topology: no placement is asked for"),
    "labels": _("Labels: every node of the pool carries those of the topology"),
    "nodes": _("Nodes: none of the %(nodes)s in the pool is cordoned or not ready"),
    "taints": _("Taints: tolerated on all %(nodes)s nodes"),
    "size": _("Size: the largest pod, of %(largest)s GPUs, fits a node of the pool"),
}
