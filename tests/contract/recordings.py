"""`python -m tests.contract.recordings`: asks a real server all scenarios and writes its answers to `recordings/`.

What the simulator answers otherwise on purpose is in `DIFFERENCES`, with the reason that docs/simulator.md gives.
"""

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

from tests.contract import scenarios, servers
from tests.contract.client import Answer, Api, in_new_namespace
from tests.contract.normal import Normaliser
from tests.contract.steps import Step

FOLDER = Path(__file__).with_name("recordings")
Recorded = list[dict[str, Any]]


def all_scenarios() -> dict[str, dict[str, list[Step]]]:
    """Scenarios by subject."""
    names = sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__))
    return {name: importlib.import_module(f"{scenarios.__name__}.{name}").SCENARIOS for name in names}


def recorded(subject: str) -> dict[str, Recorded]:
    """The real server's answers."""
    found: dict[str, Recorded] = json.loads((FOLDER / f"{subject}.json").read_text())
    return found


def play(api: Api, steps: list[Step]) -> Recorded:
    """The normalised answers of a server, in a new namespace."""
    in_new_namespace(api)
    normaliser, seen, found = Normaliser(api), list[Answer](), Recorded()
    for step in steps:
        seen.append(step.send(api, seen))
        found.append({"request": step.title, **normaliser.answer(seen[-1])})
    return found


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with servers.real() as (api, _):
        for subject, found in all_scenarios().items():
            answers = {name: play(api, steps) for name, steps in found.items()}
            text = json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True)
            (FOLDER / f"{subject}.json").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
