"""Every service that changes something leaves an audit row in the transaction of its change.

`accounts.audit.record` refuses to work outside a transaction (tests/accounts/test_audit.py); here it is shown that no
service does without it, by what each calls: a new service is covered when it is added.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUDITS = {"record"}
# They only ask whether something is allowed.
READERS = {"require_rights_of", "require_all_of", "require_reset_of", "is_own_password", "what_keeps"}


def modules() -> Iterator[Path]:
    yield from sorted({*ROOT.glob("*/services.py"), *ROOT.glob("*/services/*.py")})


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def services(path: Path) -> list[str]:
    """The public functions that somebody calls to change something: their first parameter is the actor."""
    return [
        name
        for name, function in functions(path).items()
        if not name.startswith("_") and function.args.args and function.args.args[0].arg == "actor"
    ]


def called_by(name: str, defined: dict[str, ast.FunctionDef], seen: frozenset[str] = frozenset()) -> set[str]:
    """What a function calls, itself or through others of its module."""
    calls = [node.func for node in ast.walk(defined[name]) if isinstance(node, ast.Call)]
    found = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}
    for other in found & defined.keys() - seen - {name}:
        found = found | called_by(other, defined, seen | {name})
    return found


def test_every_service_leaves_an_audit_row() -> None:
    silent = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules()
        for name in services(path)
        if name not in READERS and not AUDITS & called_by(name, functions(path))
    ]

    assert silent == []


def test_services_are_found() -> None:
    found = {name for path in modules() for name in services(path)}

    assert {"submit_workload", "update_project", "create_topology", "register_cluster", "create_department"} <= found
    assert len(found) > 40
