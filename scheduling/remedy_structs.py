"""What a remedy is: acts as codes with their objects and numbers, and what the engine did with the group then."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from scheduling.diagnosis_scene import Outcome
from scheduling.diagnosis_structs import NodeNote


class Act(StrEnum):
    """What somebody does (or waits for), those that cost least first."""

    SET_POOL = "SetPool"
    SET_LEVEL = "SetLevel"
    PREFER_AS_REQUIRED = "PreferAsRequired"
    USE_TOPOLOGY = "UseTopology"
    SET_SELECTOR = "SetSelector"
    BROADER_LEVEL = "BroaderLevel"
    PREFER = "Prefer"
    FEWER_PODS = "FewerPods"
    OTHER_POOL = "OtherPool"
    MAKE_PREEMPTIBLE = "MakePreemptible"
    SCALE_UP = "ScaleUp"
    LOWER_MINIMUM = "LowerMinimum"
    SMALLER_PODS = "SmallerPods"
    TOLERATE = "Tolerate"
    DROP_SELECTOR = "DropSelector"
    DROP_TERMS = "DropTerms"
    LABEL_PODS = "LabelPods"
    SUBMIT_AGAIN = "SubmitAgain"
    RAISE_QUOTA = "RaiseQuota"
    RAISE_LIMIT = "RaiseLimit"
    UNCORDON = "Uncordon"
    UNTAINT = "Untaint"
    LABEL_NODES = "LabelNodes"
    REPAIR_NODES = "RepairNodes"
    REPAIR_DEVICES = "RepairDevices"
    BREAK_CIRCLE = "BreakCircle"
    MAKE_QUEUE = "MakeQueue"
    MOVE_QUEUE = "MoveQueue"
    REMOVE_QUEUES = "RemoveQueues"
    MAKE_SHARD = "MakeShard"
    DROP_PLACEMENT = "DropPlacement"
    WAIT_FOR_PODS = "WaitForPods"
    WAIT_FOR_GATES = "WaitForGates"
    WAIT_UNTIL = "WaitUntil"
    WAIT_FOR_END = "WaitForEnd"
    WAIT_FOR_OTHERS = "WaitForOthers"
    END = "End"
    ADD_NODES = "AddNodes"
    ADD_FIRST_NODES = "AddFirstNodes"


class Step(msgspec.Struct, frozen=True):
    """One act: on which objects, with which amounts (in the engine's units)."""

    act: Act
    names: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    nodes: tuple[NodeNote, ...] = ()


class Remedy(msgspec.Struct, frozen=True):
    """Steps that together let it run, and where it stands then."""

    steps: tuple[Step, ...]
    outcome: Outcome
