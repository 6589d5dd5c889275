"""Translations: every message is found, and compiled without GNU gettext."""

import ast
from collections.abc import Iterator
from gettext import GNUTranslations
from pathlib import Path
from typing import Any

import pytest

from core.catalogues import compile_catalogue, extract_catalogue, messages, po_path, problems

PYTHON = """
from django.utils.translation import gettext as _, ngettext, pgettext_lazy
a = _("Node pool")
b = ngettext("%(n)d node", "%(n)d nodes", 2)
c = pgettext_lazy("of a queue", "limit")
d = _(
    "A long sentence "
    "in two parts."
)
"""
TEMPLATE = """{% load i18n %}{% comment %}{% translate "Not this" %}{% endcomment %}
  <p title="{% translate "It's “here”" %}">{{ name|default:_("nobody") }}</p>
{% blocktranslate count n=rows|length with who=user.name %}\
{{ n }} row of {{ who }}{% plural %}{{ n }} rows of {{ who }}{% endblocktranslate %}
{% translate "limit" context "of a project" %}
"""
PACKAGES = ["accounts", "clusters", "controlplane", "core", "metrics", "organizations", "topology", "workloads"]
MARKS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "npgettext"}


@pytest.fixture
def tree(tmp_path: Path, settings: Any) -> Path:
    (tmp_path / "shop" / "templates").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "shop" / "models.py").write_text(PYTHON)
    (tmp_path / "shop" / "templates" / "page.html").write_text(TEMPLATE)
    (tmp_path / "tests" / "test_x.py").write_text('_("Not that")')
    settings.LOCALE_PATHS = (tmp_path / "locale",)
    return tmp_path


def test_messages_are_found_in_python_and_in_templates(tree: Path) -> None:
    found = {(m.context, m.id) for m in messages(tree) if m.id}

    assert found == {
        (None, "Node pool"),
        (None, ("%(n)d node", "%(n)d nodes")),
        ("of a queue", "limit"),
        (None, "A long sentence in two parts."),
        (None, "It's “here”"),
        (None, "nobody"),
        (None, ("%(n)s row of %(who)s", "%(n)s rows of %(who)s")),
        ("of a project", "limit"),
    }


def test_a_missing_a_wrong_and_an_unused_translation_are_named(tree: Path) -> None:
    extract_catalogue(tree)
    text = po_path().read_text()
    text = text.replace('msgid "nobody"\nmsgstr ""', 'msgid "nobody"\nmsgstr "没有人"')
    text = text.replace('msgid_plural "%(n)d nodes"\nmsgstr[0] ""', 'msgid_plural "%(n)d nodes"\nmsgstr[0] "节点"')
    po_path().write_text(text + '\nmsgid "gone"\nmsgstr "没了"\n')

    found = problems(tree)

    assert "no longer used: 'gone' ()" in found
    assert "no translation: 'Node pool' (shop/models.py)" in found
    assert "other fields than the original: '%(n)d node' (shop/models.py)" in found
    assert not any("nobody" in problem for problem in found)


def test_a_catalogue_is_compiled_for_django(tree: Path) -> None:
    extract_catalogue(tree)
    po_path().write_text(po_path().read_text().replace('msgid "nobody"\nmsgstr ""', 'msgid "nobody"\nmsgstr "没有人"'))

    path = compile_catalogue()

    assert path is not None
    with path.open("rb") as file:
        assert GNUTranslations(file).gettext("nobody") == "没有人"


def test_extracting_again_changes_nothing(tree: Path) -> None:
    extract_catalogue(tree)
    before = po_path().read_text()
    extract_catalogue(tree)

    assert po_path().read_text() == before


def test_without_a_catalogue_nothing_is_compiled(tree: Path) -> None:
    assert compile_catalogue() is None


def test_everything_the_product_says_is_translated() -> None:
    assert problems(Path(__file__).resolve().parents[2]) == []


def product() -> Iterator[tuple[str, ast.AST]]:
    """Each module of the product with its path; those of the REST API, which speaks English, are left out."""
    root = Path(__file__).parents[2]
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            if path.parent.name != "api" and not path.name.startswith("api_"):
                yield str(path.relative_to(root)), ast.parse(path.read_text())


def test_no_text_is_marked_inside_an_f_string_where_nobody_finds_it() -> None:
    marked = {
        f"{path}:{call.lineno}"
        for path, module in product()
        for text in ast.walk(module)
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in MARKS
    }

    assert marked == set()


def test_what_is_wrong_with_an_input_is_said_in_marked_words() -> None:
    unmarked = {
        f"{path}:{call.lineno}"
        for path, module in product()
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("InvalidInput.of", "Fault")
        for message in call.args[1:2]
        if isinstance(message, ast.Constant | ast.JoinedStr)
    }

    assert unmarked == set()
