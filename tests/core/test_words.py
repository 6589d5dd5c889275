"""Pure modules speak the viewer's language, and do so without Django where there is none."""

import subprocess
import sys

import pytest
from django.utils.translation import gettext

from clusters.kubeconfig import read_kubeconfig
from clusters.names import check_object_name
from core.errors import Fault, InvalidInput, NotFound, NotPermitted
from core.words import translate_with
from topology.durations import normalise_duration
from workloads.graph import parse_graph


@pytest.fixture
def shouting():
    """A language in which every text stands in brackets."""
    translate_with(lambda text: f"[{text}]")
    yield
    translate_with(gettext)


@pytest.mark.parametrize(
    ("refuse", "said"),
    [
        (lambda: normalise_duration("soon", field="x"), "x: ['soon' is not a duration]"),
        (lambda: check_object_name("No"), "name: ['No' is not a Kubernetes name]"),
        (lambda: read_kubeconfig("a: b"), "kubeconfig: [it has no current-context]"),
        (lambda: parse_graph({"kind": "Deployment"}), "kind: ['Deployment' cannot be submitted]"),
    ],
)
@pytest.mark.usefixtures("shouting")
def test_refusals_of_pure_modules_follow_the_language(refuse, said):
    with pytest.raises(InvalidInput) as caught:
        refuse()

    assert caught.value.message == said


@pytest.mark.usefixtures("shouting")
def test_what_is_not_found_or_not_permitted_follows_the_language():
    assert NotFound().message == "[Resource id not found.]"
    assert NotPermitted("nodes:read").message == "[You do not have the right nodes:read.]"


def test_without_django_texts_stay_as_they_are_written():
    code = (
        "import sys; from clusters.names import check_object_name\n"
        "try: check_object_name('No')\n"
        "except Exception as error: print(error.message)\n"
        "assert 'django' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "name: 'No' is not a Kubernetes name"), done.stderr


def test_a_fault_is_one_sentence_of_the_viewers_language(shouting: None) -> None:
    assert Fault("name", "it is empty.", "1 to 64 characters").sentence == "[it is empty. Allowed: 1 to 64 characters.]"
    assert Fault("name", "it is taken").sentence == "[it is taken.]"
