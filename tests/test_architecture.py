"""Rules of the repository that no tool checks: file sizes, signals, broad excepts, documented settings."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 400
PACKAGES = (
    "controlplane", "simulator", "metrics", "workloads", "organizations", "topology", "clusters", "accounts", "core",
    "scheduling",
)  # fmt: skip

# Where whatever happens must not end the process: one task, one stream, one actor, one request.
PROCESS_EDGES = {
    "controlplane/tasks.py",
    "clusters/watcher/cluster_watch.py",
    "simulator/actors/controller.py",
    "simulator/actors/informer.py",
    "simulator/actors/scheduler/loop.py",
}


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", "--", pattern], cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()]


def sources() -> list[Path]:
    return [p for p in tracked("*.py") if "migrations" not in p.parts]


def own() -> list[Path]:
    return [path for path in sources() if path.relative_to(ROOT).parts[0] in PACKAGES]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_a_person_reads():
    long = {name(p): n for p in sources() if (n := len(p.read_text().splitlines())) > MAX_LINES}
    assert long == {}


def test_every_module_says_what_it_owns():
    silent = [
        name(path)
        for path in own()
        if path.name not in ("__init__.py", "apps.py", "urls.py") and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_domain_rules_are_not_hidden_in_django_signals():
    signals = re.compile(r"django\.(db\.models|dispatch|core)\.?signals|@receiver")
    assert [name(path) for path in own() if signals.search(path.read_text())] == []


def test_nothing_is_named_for_not_having_a_name():
    vague = {"utils.py", "helpers.py", "common.py", "misc.py", "util.py"}
    assert [name(p) for p in own() if p.name in vague] == []


def broad_excepts(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(c is None or getattr(c, "id", "") in ("Exception", "BaseException") for c in caught):
                yield node.lineno


def test_everything_is_caught_at_process_edges_only():
    found = {name(path) for path in own() if any(True for _ in broad_excepts(path))}
    assert found == PROCESS_EDGES


def settings_from_environment() -> set[str]:
    text = (ROOT / "controlplane" / "settings.py").read_text()
    named = set(re.findall(r'environ\.get\("([A-Z_]+)"', text))
    return named | set(re.findall(r'_(?:flag|number|list)\("([A-Z_]+)"', text))


def test_every_setting_is_documented():
    manual = ROOT / "docs" / "install.md"
    undocumented = {s for s in settings_from_environment() if f"`{s}`" not in manual.read_text()}
    assert undocumented == set()


@pytest.mark.parametrize("path", tracked("*.html"), ids=name)
def test_templates_hold_no_inline_script_style_or_handler(path):
    text = re.sub(r"{%\s*comment.*?endcomment\s*%}", "", path.read_text(), flags=re.DOTALL)
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", text) == []
    for script in re.findall(r"<script[^>]*>", text):
        assert " src=" in script or 'type="application/json"' in script
    # Autoescape does not protect an attribute without quotes.
    unquoted = re.sub(r'"[^"]*"', '""', re.sub(r"{%.*?%}", "", text, flags=re.DOTALL))
    assert re.findall(r"<[a-z][^<>]*\s[\w-]+={{", unquoted) == []


# By mark: the folders where `make test-all` looks for it. Elsewhere it would never be run.
FOLDERS_OF_MARKS = {
    "stack": {"tests/stack", "tests/cluster"},
    "faults": {"tests/stack", "tests/faults"},
    "cluster": {"tests/cluster", "tests/clusters", "tests/contract"},
}


def misplaced(path: str, text: str) -> list[str]:
    """The marks in a file that stand where no command of the Makefile looks for them."""
    folder = "/".join(path.split("/")[:2])
    found = sorted(set(re.findall(r"\bmark\.(\w+)", text)))
    return [mark for mark in found if folder not in FOLDERS_OF_MARKS.get(mark, {folder})]


def test_a_mark_stands_only_where_its_tests_are_run():
    wrong = {name(path): marks for path in tracked("tests/*.py") if (marks := misplaced(name(path), path.read_text()))}
    assert wrong == {}
    assert misplaced("tests/core/test_x.py", "@pytest.mark" + ".stack\n@pytest.mark" + ".long") == ["stack"]
    assert misplaced("tests/faults/test_x.py", "pytestmark = pytest.mark" + ".stack") == ["stack"]


def test_the_makefile_looks_for_marks_in_those_folders():
    commands = re.findall(r'-m "([^"]+)"((?: tests/\w+)*)', (ROOT / "Makefile").read_text())
    for mark, folders in FOLDERS_OF_MARKS.items():
        wanted = re.compile(rf"(?<!not )\b{mark}\b")
        looked = {folder for words, where in commands if wanted.search(words) for folder in where.split()}
        assert folders <= looked, mark
