"""The Grove operator's pure rendering against recordings of the real one (data/README.md)."""

import json
import lzma
from itertools import product
from pathlib import Path

import pytest

from clusters.operators.grove import names
from clusters.operators.grove.cliques import member_cliques, pod_cliques, scaling_groups
from clusters.operators.grove.defaults import defaulted_spec
from clusters.operators.grove.gangs import pod_gangs
from clusters.operators.grove.kai_backend import pod_group
from clusters.operators.grove.pods import pod_manifest
from clusters.operators.grove.topology import binding_status, kai_topology
from simulator.actors.grove.admission import WEBHOOK, queue_of, refusal
from simulator.actors.grove.status import clique_status, gang_status, scaling_group_status, set_status

DATA = Path(__file__).parent / "data" / "grove.jsonl.xz"
RECORDINGS = {record["file"]: record for record in map(json.loads, lzma.decompress(DATA.read_bytes()).splitlines())}
ACCEPTED = sorted(name for name, record in RECORDINGS.items() if record.get("accepted"))
REFUSED = sorted(name for name, record in RECORDINGS.items() if record.get("accepted") is False)
BINDING = RECORDINGS["00-cluster-topology-binding"]["clustertopologybinding"]
BINDINGS = {"topo": {**BINDING, "metadata": {**BINDING["metadata"], "uid": "<uid>"}}}

HASHES = {"grove.io/pod-template-hash", "currentGenerationHash", "currentPodTemplateHash", "updateProgress"}
HASHES |= {"currentPodCliqueSetGenerationHash"}
SET_BY_KAI = {"kai.scheduler/last-start-timestamp", "received-resource-type"}
SET_BY_API_SERVER = {"imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "apiVersion"}
POD_SPEC_BY_API_SERVER = {"dnsPolicy", "enableServiceLinks", "nodeName", "preemptionPolicy", "priority"}
POD_SPEC_BY_API_SERVER |= {"securityContext", "tolerations", "schedulingGates"}


def normal(value, drop=frozenset()):
    """Without hashes, times and what the API server or KAI filled in; empty collections are absent (omitempty)."""
    if isinstance(value, dict):
        pairs = {k: normal(v, drop) for k, v in value.items() if k not in drop | HASHES | SET_BY_KAI}
        pairs.pop("lastTransitionTime", None)
        return {k: v for k, v in pairs.items() if v not in ({}, [], None)}
    if isinstance(value, list):
        return [normal(entry, drop) for entry in value]
    return value


def recorded_set(name):
    """The PodCliqueSet as the operator read it: defaulted, with namespace and UID."""
    record = RECORDINGS[name]
    metadata = {**record["input"]["metadata"], "namespace": "<ns>", "uid": "<uid>", "generation": 1}
    return {**record["input"], "metadata": metadata, "spec": defaulted_spec(record["input"]["spec"])}


def with_uid(manifest):
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "<uid>", "generation": 1}}


def by_name(objects):
    return {obj["metadata"]["name"]: obj for obj in objects}


def rendered_cliques(name):
    pcs = recorded_set(name)
    groups = [with_uid(group) for group in scaling_groups(pcs)]
    cliques = [*pod_cliques(pcs), *(c for group in groups for c in member_cliques(pcs, group))]
    return pcs, groups, [with_uid(clique) for clique in cliques]


def recorded_pod_names(name):
    pods = {}
    for pod in RECORDINGS[name]["pods"]:
        pods.setdefault(pod["metadata"]["labels"][names.POD_CLIQUE], []).append(pod["metadata"]["name"])
    return pods


@pytest.mark.parametrize("name", ACCEPTED)
def test_defaults_are_those_of_the_mutating_webhook(name):
    record = RECORDINGS[name]

    assert defaulted_spec(record["input"]["spec"]) == record["defaulted_spec"]


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_have_the_webhooks_text(name):
    record = RECORDINGS[name]
    recorded = record["api_error"]
    namespace = recorded.split("PodCliqueSet ")[-1].split("/")[0] if "KAI queue" in recorded else "<ns>"
    pcs = {**record["input"], "metadata": {**record["input"]["metadata"], "namespace": namespace}}

    text = WEBHOOK + refusal(pcs, BINDINGS, own_backend=True)

    # The webhook prints the spec as Go serialises it; key order is Go's, ours is the input's.
    assert normal_spec_print(text) == normal_spec_print(recorded)


def normal_spec_print(text):
    start, end = text.find("{"), text.rfind("}: ")
    if start == -1 or end == -1:
        return text
    spec = json.dumps(json.loads(text[start : end + 1]), sort_keys=True)
    return text[:start] + spec + text[end + 1 :]


def test_a_scaling_group_without_replicas_is_refused_as_in_dynamo_issue_11837():
    pcs = recorded_set("04-scaling-group-2-replicas-min-1")
    group = pcs["spec"]["template"]["podCliqueScalingGroups"][0]

    group["replicas"] = 0

    path = "spec.template.podCliqueScalingGroups[0]"
    assert WEBHOOK + refusal(pcs, BINDINGS, own_backend=True) == (
        'admission webhook "pcs.validating.webhooks.grove.io" denied the request: '
        f"[{path}.replicas: Invalid value: 0: must be greater than 0, "
        f"{path}.minAvailable: Invalid value: 1: minAvailable must not be greater than replicas]"
    )


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_sets_are_not_refused(name):
    assert refusal(recorded_set(name), BINDINGS, own_backend=True) == ""


@pytest.mark.parametrize("name", ACCEPTED)
def test_pod_cliques_and_scaling_groups_are_as_recorded(name):
    record = RECORDINGS[name]
    _, groups, cliques = rendered_cliques(name)

    wanted = [{k: v for k, v in c.items() if k != "status"} for c in record["podcliques"]]
    got = [{k: v for k, v in c.items() if k != "status"} for c in cliques]
    assert without_own_uid(by_name(normal(got))) == by_name(normal(wanted))
    wanted = [{k: v for k, v in g.items() if k != "status"} for g in record["podcliquescalinggroups"]]
    assert without_own_uid(by_name(normal(groups))) == by_name(normal(wanted))


def without_own_uid(objects):
    for obj in objects.values():
        obj["metadata"].pop("uid", None)
        obj["metadata"].pop("generation", None)
    return objects


@pytest.mark.parametrize("name", ACCEPTED)
def test_equal_pod_templates_have_equal_hashes_and_others_differ(name):
    _, _, cliques = rendered_cliques(name)
    ours = {c["metadata"]["name"]: c["metadata"]["labels"][names.TEMPLATE_HASH] for c in cliques}
    theirs = {
        c["metadata"]["name"]: c["metadata"]["labels"][names.TEMPLATE_HASH] for c in RECORDINGS[name]["podcliques"]
    }

    for one, other in product(theirs, theirs):
        assert (ours[one] == ours[other]) == (theirs[one] == theirs[other])


@pytest.mark.parametrize("name", ACCEPTED)
def test_pod_gangs_are_as_recorded(name):
    pcs, groups, _ = rendered_cliques(name)

    gangs = list(pod_gangs(pcs, groups, recorded_pod_names(name), BINDINGS))

    wanted = [{k: v for k, v in gang.items() if k != "status"} for gang in RECORDINGS[name]["podgangs"]]
    assert by_name(normal(gangs)) == by_name(normal(wanted))


@pytest.mark.parametrize("name", ACCEPTED)
def test_own_backend_makes_the_recorded_pod_groups(name):
    pcs = recorded_set(name)
    queue = queue_of(pcs, pcs["spec"]["template"]["cliques"])

    groups = [pod_group(with_uid(gang), queue) for gang in RECORDINGS[name]["podgangs"]]

    wanted = [{k: v for k, v in g.items() if k != "status"} for g in RECORDINGS[name]["podgroups"]]
    assert by_name(normal(groups)) == by_name(normal(wanted))


@pytest.mark.parametrize("name", ACCEPTED)
def test_pods_are_as_recorded(name):
    _, _, cliques = rendered_cliques(name)
    cliques = by_name(cliques)
    minimum = {clique: obj["spec"]["minAvailable"] for clique, obj in cliques.items()}

    for pod in RECORDINGS[name]["pods"]:
        labels = pod["metadata"]["labels"]
        clique = cliques[labels[names.POD_CLIQUE]]
        ours = pod_manifest(clique, int(labels[names.POD_INDEX]), own_backend=True, min_available=minimum)

        assert ours["spec"].pop("schedulingGates") == [{"name": "grove.io/podgang-pending-creation"}]
        recorded_spec = {k: v for k, v in pod["spec"].items() if k not in POD_SPEC_BY_API_SERVER}
        assert comparable_spec(ours["spec"]) == comparable_spec(recorded_spec)
        recorded_metadata = {k: v for k, v in pod["metadata"].items() if k != "name"}
        assert normal(ours["metadata"]) == normal(recorded_metadata)


def comparable_spec(spec):
    spec = normal(spec, SET_BY_API_SERVER)
    for container in spec.get("initContainers", ()):
        container.pop("image")  # the recording ran a build of its own
    return spec


@pytest.mark.parametrize("name", ACCEPTED)
def test_statuses_follow_from_the_recorded_pods(name):
    record = RECORDINGS[name]
    pods = {}
    for pod in record["pods"]:
        pods.setdefault(pod["metadata"]["labels"][names.POD_CLIQUE], []).append(pod)
    for clique in record["podcliques"]:
        status, conditions = clique_status(with_uid(clique), pods[clique["metadata"]["name"]], "hash")

        assert normal({**status, "conditions": conditions}) == normal(clique["status"])
    for group in record["podcliquescalinggroups"]:
        members = [
            c
            for c in record["podcliques"]
            if c["metadata"]["labels"].get(names.SCALING_GROUP) == group["metadata"]["name"]
        ]
        status, conditions = scaling_group_status(with_uid(group), members, "hash")

        assert normal({**status, "conditions": conditions}) == normal(group["status"])
    status, conditions = set_status(
        recorded_set(name), record["podcliques"], record["podcliquescalinggroups"], BINDINGS
    )
    assert normal({**status, "conditions": conditions}) == normal(record["podcliquesets"][0]["status"])
    status, conditions = gang_status(complete=True)
    for gang in record["podgangs"]:
        assert normal({**status, "conditions": conditions}) == normal(gang["status"])


def test_a_binding_makes_the_recorded_kai_topology_and_status():
    record = RECORDINGS["00-cluster-topology-binding"]
    topology = kai_topology(BINDINGS["topo"])

    status, condition = binding_status(with_uid(BINDINGS["topo"]), topology)

    assert topology == record["kai_topology"][0]
    assert normal({**status, "conditions": [condition]}) == normal(BINDING["status"])


def test_a_topology_of_somebody_else_is_reported_as_in_the_real_operators_refusal():
    foreign = {"metadata": {"name": "topo"}, "spec": {"levels": [{"nodeLabel": "zone"}]}}

    status, condition = binding_status(with_uid(BINDINGS["topo"]), foreign)

    text = "KAI Topology topo is not owned by ClusterTopologyBinding topo"
    assert condition["message"] == text
    assert condition["status"] == "True"
    assert status["schedulerTopologyStatuses"][0]["inSync"] is False
