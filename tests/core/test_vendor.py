"""Third-party scripts are the files of their published versions, with their licences."""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"


def test_vendored_files_are_those_of_the_manifest() -> None:
    manifest = json.loads((VENDOR / "manifest.json").read_text())

    found = {
        folder.name: {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.iterdir()}
        for folder in VENDOR.iterdir()
        if folder.is_dir()
    }
    assert found == {name: entry["files"] for name, entry in manifest.items()}
    assert all("LICENSE" in files for files in found.values())


def test_own_scripts_are_small() -> None:
    lengths = {f.name: len(f.read_text().splitlines()) for f in (ROOT / "static/js").glob("*.js")}

    assert {name for name, length in lengths.items() if length >= 150} == set()


def test_templates_have_no_inline_script_or_style() -> None:
    folders = [ROOT / "templates", *ROOT.glob("*/templates")]
    wrong = [
        str(page.relative_to(ROOT))
        for folder in folders
        for page in folder.rglob("*.html")
        for text in [page.read_text()]
        if "<style" in text or " style=" in text or "<script>" in text or " onclick=" in text or "javascript:" in text
    ]

    assert wrong == []
