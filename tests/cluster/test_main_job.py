"""The main job on a real API server: registered as Muster tells an administrator to, with KAI's and Grove's own CRDs
where they are at hand, KWOK's nodes, and the actors as ordinary clients."""

import json
from collections.abc import Iterator
from typing import Any

from tests.cluster.installation import RealMuster
from tests.cluster.world import audited, is_refused
from tests.stack import test_main_job_api as story
from tests.stack.main_job import utilisation_of

# What Muster writes of KAI's and Grove's kinds, and what the actors make of it.
PLATFORM = frozenset({
    "topologies.kai.scheduler", "schedulingshards.kai.scheduler", "queues.scheduling.run.ai",
    "podgroups.scheduling.run.ai", "clustertopologybindings.grove.io",
    "podcliquesets.grove.io", "podcliquescalinggroups.grove.io", "podcliques.grove.io", "podgangs.scheduler.grove.io",
})  # fmt: skip
GROUPS = frozenset(kind.partition(".")[2] for kind in PLATFORM)
WRITING = frozenset({"create", "update", "patch"})
UNACCEPTABLE = frozenset({400, 413, 422, 500})  # 500: an apply with a field that the schema does not have


def test_the_main_job_on_a_real_cluster(muster: RealMuster) -> None:
    version = json.loads(muster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    assert version == "v1.35.4"

    story.the_main_job(muster, nobody_measures)

    refused = refusals(muster)
    assert refused == [], "the printed rights were not enough"
    assert rejected(muster) == [], "a schema did not take what Muster or an actor wrote"
    assert written(muster) >= PLATFORM


def nobody_measures(api: story.Api) -> None:
    """Nothing exports figures there: every node is not measured, which is not zero."""
    nodes = api.muster.objects("nodes")
    assert {utilisation_of(api.muster, node["metadata"]["uid"]) == {} for node in nodes} == {True}


def refusals(muster: RealMuster) -> list[str]:
    """What Muster's account was not allowed to do, from the server's audit log."""
    log = muster.data_dir / "cluster" / "audit.log"
    return [f"{event['verb']} {event['requestURI']}" for event in audited(log) if is_refused(event)]


def rejected(muster: RealMuster) -> list[str]:
    """Writes of KAI's and Grove's objects, whoever made them, that a schema or a rule of the CRD did not take."""
    return [
        f"{event['verb']} {event['requestURI']}: {event['responseStatus']}"
        for event in writes(muster)
        if event["responseStatus"]["code"] in UNACCEPTABLE
    ]


def written(muster: RealMuster) -> set[str]:
    """The kinds of KAI's and Grove's of which something was written, as `plural.group`."""
    return {
        f"{event['objectRef']['resource']}.{event['objectRef']['apiGroup']}"
        for event in writes(muster)
        if event["responseStatus"]["code"] in (200, 201)
    }


def writes(muster: RealMuster) -> Iterator[dict[str, Any]]:
    """All that anybody wrote of their groups, from the server's audit log."""
    for event in audited(muster.data_dir / "cluster" / "audit.log", user=""):
        about = event.get("objectRef") or {}
        if event["verb"] in WRITING and about.get("apiGroup") in GROUPS:
            yield event
