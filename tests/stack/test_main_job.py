"""The main job in a browser, as a newcomer does it: topology → node pool → quota → workload as a gang → utilisation."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.stack.conftest import Console, new_context, sign_in
from tests.stack.installation import Muster, wait_until
from tests.stack.leftovers import await_nothing_left, await_what_muster_makes_by_itself
from tests.stack.main_job import (
    DISAGG,
    HOST,
    NAMESPACE,
    PREFERRED,
    RACK,
    REQUIRED,
    ZONE,
    await_pods,
    await_ready,
    devices_of,
    domains_of,
    gang,
    lower_the_quota,
    pods_of,
    put_token,
    quota_of,
    unlabelled_node,
)

ATTACHED = "The network topology of default is changed."


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Muster]:
    """An installation of its own, on an empty fleet: 2 zones of 3 racks of 3 nodes of 8 GPUs."""
    installation = Muster(tmp_path)
    try:
        yield installation.start()
    finally:
        if installation.process is not None:
            installation.stop()


@pytest.fixture
def tab(cluster: Muster, chromium: Browser, console: Console) -> Iterator[Page]:
    """The administrator's tab; neither the console nor the content security policy may complain in it."""
    context = new_context(chromium, cluster)
    page = context.new_page()
    console.listen(page)
    sign_in(page, cluster)
    yield page
    context.close()


def test_the_main_job_in_a_browser(cluster: Muster, tab: Page) -> None:
    the_main_job(cluster, tab, log_is_shown, busy_gpus_are_those_of_the_workloads)


def the_main_job(
    cluster: Muster, tab: Page, log: Callable[[Page], None], utilisation: Callable[[Page, Muster], None]
) -> None:
    """From nothing to utilisation, and everything deleted. `log` and `utilisation` look for what nodes tell."""
    before = await_what_muster_makes_by_itself(cluster)
    define_the_topology(tab)
    attach_it_to_the_default_pool(tab)
    make_a_department(tab)
    make_a_project_with_32_gpus(tab, cluster)
    put_token(cluster)

    submit(tab, DISAGG)
    pods = await_ready(cluster, "vllm-disagg", 3)
    assert len(domains_of(cluster, pods, RACK)) == 1
    expect(phase(tab)).to_have_text("Running")
    expect(tab.get_by_text("The placement arrived")).to_be_visible()
    expect(tab.get_by_text(re.compile("All pods stand in one rack"))).to_be_visible()

    tab.get_by_role("link", name="Logs", exact=True).click()
    log(tab)

    submit(tab, gang("too-large", REQUIRED))
    says_which_level_is_short(tab, cluster)
    delete(tab, "too-large")

    submit(tab, gang("loosened", PREFERRED))
    pods = await_ready(cluster, "loosened", 9)
    assert len(domains_of(cluster, pods, ZONE)) == 1
    expect(tab.get_by_text(re.compile("One rack was preferred and did not fit; it was loosened"))).to_be_visible()
    what_kubectl_changes_is_repaired_and_shown(tab, cluster)
    utilisation(tab, cluster)

    delete(tab, "loosened")
    delete(tab, "vllm-disagg")
    everything_goes(tab)
    await_nothing_left(cluster, before)


def log_is_shown(tab: Page) -> None:
    expect(tab.locator("#log")).not_to_be_empty()


def phase(tab: Page) -> Locator:
    """The chip beside the title."""
    return tab.locator("#head-phase .phase")


def open_page(tab: Page, name: str) -> None:
    tab.get_by_role("navigation").get_by_role("link", name=name, exact=True).first.click()


def define_the_topology(tab: Page) -> None:
    """From the suggestions: zone › rack › hostname, broadest first."""
    open_page(tab, "Network topologies")
    tab.get_by_role("link", name="New topology").first.click()
    tab.get_by_label("Name", exact=True).fill("topology-1")
    for key in (ZONE, RACK, HOST):
        expect(tab.get_by_label(f"Use {key}")).to_be_checked()
    expect(tab.locator("ol.order li .mono")).to_have_text([ZONE, RACK, HOST])
    tab.get_by_role("button", name="Save topology").click()
    expect(tab.get_by_role("heading", name="topology-1")).to_be_visible()


def attach_it_to_the_default_pool(tab: Page) -> None:
    open_page(tab, "Node pools")
    tab.get_by_role("link", name="default", exact=True).click()
    attach = tab.get_by_label("Attached topology")
    label = attach.locator("option", has_text="topology-1").inner_text()
    attach.select_option(label=label)
    save(tab, "Attach", tab.get_by_text(ATTACHED))
    expect(tab.locator("#tree").get_by_role("link", name="topology-1")).to_be_visible()


def make_a_department(tab: Page) -> None:
    open_page(tab, "Departments")
    tab.get_by_role("link", name="New department").first.click()
    tab.get_by_label("Name", exact=True).fill("research")
    tab.get_by_label("default: gpu deserved").fill("64")
    save(tab, "Save department", tab.get_by_role("heading", name="research"))


def make_a_project_with_32_gpus(tab: Page, cluster: Muster) -> None:
    open_page(tab, "Projects")
    tab.get_by_role("link", name="New project").first.click()
    tab.get_by_label("Name", exact=True).fill("project-a")
    tab.get_by_label("Department").select_option(label="research")
    tab.get_by_label(re.compile("^Namespace")).fill(NAMESPACE)
    tab.get_by_label("default: gpu deserved").fill("32")
    save(tab, "Save project", tab.get_by_role("heading", name="project-a"))
    wait_until(
        lambda: NAMESPACE in [n["metadata"]["name"] for n in cluster.objects("namespaces")], "the project's namespace"
    )


def save(tab: Page, button: str, saved: Locator) -> None:
    """Save; nothing that the main job saves hits anybody, so no page asks first."""
    tab.get_by_role("button", name=button).click()
    expect(saved).to_be_visible()


def submit(tab: Page, source: str) -> None:
    """Paste YAML, read the checks, submit."""
    open_page(tab, "Workloads")
    tab.get_by_role("link", name="Submit workload").first.click()
    tab.get_by_role("button", name="YAML").click()
    tab.get_by_label("YAML", exact=True).fill(source)
    tab.get_by_role("button", name="Check").click()
    expect(tab.get_by_text("nothing to fix")).to_be_visible()
    tab.get_by_role("button", name="Submit").click()
    name = re.search(r"^  name: (\S+)", source, re.MULTILINE)
    assert name is not None
    expect(tab.get_by_role("heading", level=1, name=name[1])).to_be_visible()


def says_which_level_is_short(tab: Page, cluster: Muster) -> None:
    """None of the gang started, and the page says why with both numbers."""
    verdict = tab.locator("#workload-why .verdict")
    expect(verdict).to_contain_text("It asks for 32 GPUs inside one rack")
    expect(verdict).to_contain_text("has 24: 8 short. It can never start as written")
    expect(phase(tab)).to_have_text("Pending")
    pods = await_pods(cluster, "too-large", 9)
    assert [pod["spec"].get("nodeName") for pod in pods] == [None] * 9
    open_page(tab, "Workloads")
    expect(tab.get_by_role("row", name=re.compile("too-large"))).to_contain_text("32 in one rack; largest is 24")


def busy_gpus_are_those_of_the_workloads(tab: Page, cluster: Muster) -> None:
    """Utilisation rises on the nodes of the pods and on no other; on those, on the GPUs of the pods and no others."""
    busy = devices_of(cluster, pods_of(cluster, "vllm-disagg") + pods_of(cluster, "loosened"))

    def seen() -> bool:
        tab.goto("/gpu-utilisation/?by=node")
        found = cells(tab.locator("#metrics-groups tbody tr"), 0, 5)
        return bool(found) and {name for name, most in found if most not in ("0 %", "–")} == set(busy)

    wait_until(seen, f"utilisation on exactly {sorted(busy)}", 90)
    for node, gpus in busy.items():
        open_page(tab, "Nodes")
        tab.get_by_role("link", name=node, exact=True).click()
        wait_until(lambda gpus=gpus: busy_indices(tab) == gpus, f"the GPUs {sorted(gpus)} of {node} to be busy", 90)


def busy_indices(tab: Page) -> set[int] | None:
    """The GPUs of the node's page that do something, read at one moment; None while its panel is being fetched. The
    panel is fetched again every minute."""
    rows = cells(tab.locator("#node-gpus tbody tr"), 0, 1)
    return {int(index) for index, used in rows if used not in ("0 %", "–")} if len(rows) == 8 else None


def cells(rows: Locator, *columns: int) -> list[list[str]]:
    """What stands in these columns of each row, read at one moment."""
    read = "(rows, columns) => rows.map((row) => columns.map((column) => row.cells[column].innerText))"
    found: list[list[str]] = rows.evaluate_all(read, list(columns))
    return found


def what_kubectl_changes_is_repaired_and_shown(tab: Page, cluster: Muster) -> None:
    """The queue is put back, and the page that is open says so; the node without its label is named by its pool."""
    open_page(tab, "Projects")
    tab.get_by_role("link", name="project-a", exact=True).first.click()
    conditions = tab.locator("#conditions")
    expect(conditions).to_contain_text("Nobody has changed what Muster wrote")
    lower_the_quota(cluster)
    expect(conditions).to_contain_text("Somebody had changed")
    assert quota_of(cluster) == 32

    open_page(tab, "Node pools")
    tab.get_by_role("link", name="default", exact=True).click()
    with unlabelled_node(cluster) as node:
        expect(conditions).to_contain_text(node)
    expect(conditions).to_contain_text("Every GPU node has the labels of the attached topology")


def delete(tab: Page, name: str) -> None:
    """With its name typed; the list forgets it when the cluster has."""
    open_page(tab, "Workloads")
    tab.get_by_role("link", name=name, exact=True).click()
    tab.locator("summary[aria-label='More actions']").click()
    tab.get_by_role("link", name="Delete…").click()
    tab.get_by_label(re.compile("to confirm")).fill(name)
    tab.get_by_role("button", name="Delete workload").click()
    expect(tab.get_by_role("heading", level=1, name=re.compile("Workloads"))).to_be_visible()
    leaves_the_list(tab, name)


def leaves_the_list(tab: Page, name: str) -> None:
    """Rows under the pointer are struck, not removed, so the page is asked anew."""

    def gone() -> bool:
        tab.reload()
        return tab.get_by_role("link", name=name, exact=True).count() == 0

    wait_until(gone, f"{name} to leave the list")


def everything_goes(tab: Page) -> None:
    """Project, department and topology deleted."""
    remove(tab, "Projects", "project-a", "Delete project")
    remove(tab, "Departments", "research", "Delete department")
    open_page(tab, "Node pools")
    tab.get_by_role("link", name="default", exact=True).click()
    tab.get_by_label("Attached topology").select_option(label="none")
    save(tab, "Attach", tab.get_by_text(ATTACHED))
    remove(tab, "Network topologies", "topology-1", "Delete topology")


def remove(tab: Page, page: str, name: str, button: str) -> None:
    open_page(tab, page)
    tab.get_by_role("link", name=name, exact=True).first.click()
    tab.locator("summary[aria-label='More actions']").click()
    tab.get_by_role("link", name=re.compile("^Delete")).click()
    tab.get_by_label(re.compile("to confirm")).fill(name)
    tab.get_by_role("button", name=button).click()
    open_page(tab, page)
    leaves_the_list(tab, name)
