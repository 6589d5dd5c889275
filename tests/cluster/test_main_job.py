"""The main job on a real API server: registered as Muster tells an administrator to, with KAI's and Grove's own CRDs
where they are at hand, KWOK's nodes, and the actors as ordinary clients."""

import json

from tests.cluster.installation import RealMuster
from tests.cluster.world import audited, is_refused
from tests.stack import test_main_job_api as story
from tests.stack.main_job import utilisation_of


def test_the_main_job_on_a_real_cluster(muster: RealMuster) -> None:
    version = json.loads(muster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    assert version == "v1.35.4"

    story.the_main_job(muster, nobody_measures)

    refused = refusals(muster)
    assert refused == [], "the printed rights were not enough"


def nobody_measures(api: story.Api) -> None:
    """Nothing exports figures there: every node is not measured, which is not zero."""
    nodes = api.muster.objects("nodes")
    assert {utilisation_of(api.muster, node["metadata"]["uid"]) == {} for node in nodes} == {True}


def refusals(muster: RealMuster) -> list[str]:
    """What Muster's account was not allowed to do, from the server's audit log."""
    log = muster.data_dir / "cluster" / "audit.log"
    return [f"{event['verb']} {event['requestURI']}" for event in audited(log) if is_refused(event)]
