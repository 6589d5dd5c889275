"""The podgrouper's pure rules against recordings of KAI's (data/README.md)."""

import json
import lzma
from pathlib import Path

import pytest

from clusters.operators.grouping import GroupingError, gang_name, group_pod, is_skipped, updated
from scheduling.durations import format_duration, parse_duration

DATA = Path(__file__).parent / "data" / "grove.jsonl.xz"
RECORDINGS = {
    record["case"]: record
    for record in map(json.loads, lzma.decompress(DATA.read_bytes()).splitlines())
    if record["file"].startswith("podgrouper-")
}
# LeaderWorkerSet needs fields that were not recorded; p29 is the relabelled one, tested below by itself.
GROUPED = sorted(case for case, r in RECORDINGS.items() if r["podgroups"] and case not in ("p22", "p23", "p29"))
CLASSES = {"train", "build", "build-preemptible", "inference"}
NEAREST = ("PodClique", "ReplicaSet", "StatefulSet", "Job")


def owner_chain(record, pod):
    """Owners nearest first; the recording names each pod's nearest owner only by its prefix."""
    owners = {(kind, o["metadata"]["name"]): o for kind, objs in record["owners"].items() for o in objs}
    versions = {"PodClique": "grove.io/v1alpha1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
    versions |= {"Job": "batch/v1"}
    name = pod["metadata"]["name"]
    key = next((k for k in owners if k[0] in NEAREST and name.startswith(k[1] + "-")), None)
    chain, version = [], versions.get(key[0]) if key else None
    while key:
        owner = owners[key]
        metadata = {**owner["metadata"], "uid": "<uid>"}
        chain.append({**owner, "kind": key[0], "apiVersion": version, "metadata": metadata})
        references = metadata.get("ownerReferences") or []
        key = (references[0]["kind"], references[0]["name"]) if references else None
        version = references[0]["apiVersion"] if references else None
    return chain


def recorded_pods(record):
    """The pods before the podgrouper wrote its label and annotation."""
    for pod in record["pods"]:
        labels = {k: v for k, v in (pod["labels"] or {}).items() if k != "kai.scheduler/subgroup-name"}
        annotations = {k: v for k, v in (pod["annotations"] or {}).items() if k != "pod-group-name"}
        metadata = {"name": pod["name"], "namespace": "<ns>", "uid": "<uid>"}
        yield pod, {"metadata": {**metadata, "labels": labels, "annotations": annotations}, "spec": {}}


def grouping(record, pod):
    gangs = {gang["metadata"]["name"]: gang for gang in record["owners"].get("PodGang", ())}
    gang = gangs.get(gang_name(pod))
    if gang:
        gang = {**gang, "metadata": {**gang["metadata"], "uid": "<uid>"}}
    return group_pod(pod, owner_chain(record, pod), gang, CLASSES)


@pytest.mark.parametrize("case", GROUPED)
def test_pod_groups_are_as_recorded(case):
    record = RECORDINGS[case]
    groups = {}
    for recorded, pod in recorded_pods(record):
        group, subgroup = grouping(record, pod)
        groups[group["metadata"]["name"]] = group

        assert recorded["annotations"]["pod-group-name"] == group["metadata"]["name"]
        assert (recorded["labels"] or {}).get("kai.scheduler/subgroup-name", "") == subgroup
    wanted = {g["metadata"]["name"]: {k: v for k, v in g.items() if k != "status"} for g in record["podgroups"]}
    assert groups == wanted


@pytest.mark.parametrize("case", ["p08", "p11", "p12", "p25"])
def test_what_cannot_be_grouped_says_why_in_kais_words(case):
    record = RECORDINGS[case]
    for recorded, pod in recorded_pods(record):
        with pytest.raises(GroupingError) as caught:
            grouping(record, pod)

        assert ["Pod", recorded["name"], "PodGrouperWarning", str(caught.value)] in record["events"]


def test_a_pod_that_opts_out_is_left_alone():
    [(_, pod)] = recorded_pods(RECORDINGS["p28"])

    assert is_skipped(pod, [])


def test_an_existing_pod_group_keeps_its_queue_and_follows_the_topology_annotation():
    record = RECORDINGS["p29"]
    [wanted] = record["podgroups"]
    before = {**wanted, "spec": {**wanted["spec"], "topologyConstraint": {"topology": "topo"}}}
    [(_, pod), _] = recorded_pods(record)

    desired = grouping(record, pod).pod_group

    assert desired["spec"]["queue"] == "q2"
    assert updated(before, desired) == wanted


@pytest.mark.parametrize(
    ("text", "seconds", "printed"),
    [("5m", 300, "5m0s"), ("-1s", -1, "-1s"), ("1h", 3600, "1h0m0s"), ("1.5s", 1.5, "1.5s"), ("0", 0, "0s")],
)
def test_durations_are_read_and_printed_as_go_does(text, seconds, printed):
    assert parse_duration(text) == seconds
    assert format_duration(seconds) == printed


@pytest.mark.parametrize("text", ["1d", "abc", "", "1 hour", "5", "2562048h"])
def test_durations_that_go_cannot_read_are_refused_with_its_text(text):
    with pytest.raises(ValueError, match="time: invalid duration"):
        parse_duration(text)
