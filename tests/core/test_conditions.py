"""What holds of every condition that the product writes."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "clusters", "topology", "organizations", "workloads", "controlplane")


def made_conditions() -> Iterator[tuple[str, ast.Call]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            if "from core.conditions import" not in text:
                continue  # another Condition: those of Kubernetes as they are read
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Condition":
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_condition_says_a_sentence_to_whoever_reads_it_over_the_api():
    """Pages have words of their own; the REST API has the message alone."""
    made = dict(made_conditions())

    def silent(call: ast.Call) -> bool:
        told = [*call.args[3:4], *(keyword.value for keyword in call.keywords if keyword.arg == "message")]
        return not told or (isinstance(told[0], ast.Constant) and not told[0].value)

    assert len(made) > 20
    assert [place for place, call in made.items() if silent(call)] == []
