"""The main job in a browser on a real API server, where Grove's own back-end makes the pod groups."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.cluster.installation import RealMuster
from tests.cluster.test_main_job import PLATFORM, refusals, rejected, written
from tests.stack import test_main_job as story
from tests.stack import test_main_job_api as story_by_rest
from tests.stack.conftest import Console, launched, new_context, sign_in
from tests.stack.installation import Muster


def test_the_main_job_in_a_browser_on_a_real_cluster(tmp_path: Path) -> None:
    """Nothing complains: not the console, not the content security policy, not a right, not a schema."""
    installation, console = RealMuster(tmp_path, extra=("--cluster", "real")), Console()
    try:
        installation.start(MUSTER_GROVE_BACKEND="grove")
        with launched() as chromium:
            context = new_context(chromium, installation)
            tab = context.new_page()
            console.listen(tab)
            sign_in(tab, installation)
            story.the_main_job(installation, tab, no_kubelet_answers, while_two_graphs_run)
            context.close()
        assert (refusals(installation), rejected(installation)) == ([], [])
        assert written(installation) >= PLATFORM
    finally:
        if installation.process is not None:
            installation.stop()

    assert console.said == console.foretold


def no_kubelet_answers(tab: Page) -> None:
    """No machine stands behind a node of KWOK's: why there is no log is said in the API server's words."""
    expect(tab.get_by_text(re.compile("The log could not be read: .*containerLogs"))).to_be_visible()


def while_two_graphs_run(tab: Page, muster: Muster) -> None:
    """Nobody measures them, and a third one, which spans nodes, starts as a gang of Grove's own back-end."""
    nobody_measures(tab, muster)
    api = story_by_rest.Api(muster)
    [project] = api.do("GET", "/v1/org-unit/projects")["projects"]
    story_by_rest.spans_nodes(api, project["id"])


def nobody_measures(tab: Page, muster: Muster) -> None:
    """Nothing exports figures there: the GPUs of a node that works are not measured, which is not zero."""
    busy = story.pods_of(muster, "loosened")[0]["spec"]["nodeName"]
    story.open_page(tab, "Nodes")
    tab.get_by_role("link", name=busy, exact=True).click()
    expect(tab.get_by_text(re.compile("not measured")).first).to_be_visible()
