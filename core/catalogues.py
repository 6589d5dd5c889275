"""Translations without GNU gettext: messages are found in Python and templates, kept as .po, compiled with Babel.

The catalogue is `locale/zh_Hans/LC_MESSAGES/django.po`; the `.mo` beside it is made from it and not kept in git.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

LOCALE = "zh_Hans"
_LEFT_OUT = frozenset({"tests", "simulator", "staticfiles", "var", "docs", "node_modules", "migrations", "build"})
_KEYWORDS: Mapping[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
# What templatize() makes of a template's tags: calls whose arguments are literals, between blanked-out text.
_LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL = re.compile(rf"\b(npgettext|pgettext|ngettext|gettext|_)\(\s*({_LITERAL}(?:\s*,\s*{_LITERAL})*)", re.DOTALL)

Identity = tuple[str | None, str | tuple[str, ...]]


def po_path() -> Path:
    """The catalogue of the one language besides English."""
    return Path(settings.LOCALE_PATHS[0]) / LOCALE / "LC_MESSAGES" / "django.po"


def messages(root: Path) -> Catalog:
    """All messages of the product's Python and templates, untranslated."""
    found = Catalog(domain="django", project="Muster", charset="utf-8")
    for path in _sources(root):
        where = [(path.relative_to(root).as_posix(), 1)]
        for context, ident in _template(path) if path.suffix == ".html" else _python(path):
            found.add(ident, None, locations=where, context=context)
    return found


def read_catalogue() -> Catalog:
    """The translations as they are kept; empty when there are none yet."""
    path = po_path()
    if not path.exists():
        return Catalog(locale=LOCALE, domain="django", project="Muster", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=LOCALE, domain="django")


def extract_catalogue(root: Path) -> Catalog:
    """Bring the kept catalogue up to the sources: new messages untranslated, messages that are gone dropped."""
    catalogue = read_catalogue()
    catalogue.update(messages(root), no_fuzzy_matching=True, update_header_comment=False, keep_user_comments=False)
    catalogue.header_comment = "# Simplified Chinese of Muster. Made by: manage.py catalogues extract"
    catalogue.fuzzy = False
    path = po_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, ignore_obsolete=True, include_lineno=False, sort_output=True, omit_header=False)
    return catalogue


def compile_catalogue() -> Path | None:
    """Make the .mo that Django loads, when it is missing or older than its .po. Returns it, None without a .po."""
    source = po_path()
    target = source.with_suffix(".mo")
    if not source.exists():
        return None
    if not target.exists() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
        fresh = target.with_suffix(".mo.new")
        with fresh.open("wb") as file:
            write_mo(file, read_catalogue())
        fresh.replace(target)
    return target


def problems(root: Path) -> list[str]:
    """What keeps the catalogue from being complete: messages untranslated, fuzzy, outdated or with other fields."""
    catalogue = read_catalogue()
    wanted = {_key(message): message for message in messages(root) if message.id}
    kept = {_key(message): message for message in catalogue if message.id}
    found = [f"not in the catalogue: {_shown(wanted[key])}" for key in wanted.keys() - kept.keys()]
    found += [f"no longer used: {_shown(kept[key])}" for key in kept.keys() - wanted.keys()]
    for key in wanted.keys() & kept.keys():
        found.extend(_wrong(kept[key], catalogue))
    return sorted(found)


def untranslated(catalogue: Catalog) -> int:
    """How many messages lack a translation, whole or of a plural form."""
    return sum(1 for message in catalogue if message.id and not all(_texts(message)))


def _texts(message: Message) -> list[str | None]:
    return list(message.string) if isinstance(message.string, (list, tuple)) else [message.string]


def _wrong(message: Message, catalogue: Catalog) -> Iterator[str]:
    texts = _texts(message)
    if not all(texts):
        yield f"no translation: {_shown(message)}"
    elif message.fuzzy:
        yield f"fuzzy: {_shown(message)}"
    else:
        fields = _fields(message.id if isinstance(message.id, str) else message.id[-1])
        if any(_fields(text or "") != fields for text in texts):
            yield f"other fields than the original: {_shown(message)}"
        yield from (f"{error}: {_shown(message)}" for error in message.check(catalogue))


def _fields(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)[sd]|\{\w*\}|</?b>", text))


def _sources(root: Path) -> Iterator[Path]:
    for folder in sorted(root.iterdir()):
        if not folder.is_dir() or folder.name.startswith(".") or folder.name in _LEFT_OUT:
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".py", ".html"} and not _LEFT_OUT.intersection(path.relative_to(root).parts):
                yield path


def _python(path: Path) -> Iterator[Identity]:
    found = extract("python", BytesIO(path.read_bytes()), keywords=_KEYWORDS, options={"encoding": "utf-8"})
    for _line, ident, _comments, context in found:
        if ident:
            yield context, ident


def _template(path: Path) -> Iterator[Identity]:
    for name, arguments in _CALL.findall(templatize(path.read_text())):
        texts = [ast.literal_eval(text.strip()) for text in re.findall(_LITERAL, arguments, re.DOTALL)]
        context = texts.pop(0) if name in {"pgettext", "npgettext"} else None
        plural = name in {"ngettext", "npgettext"}
        yield context, tuple(texts[:2]) if plural else texts[0]


def _key(message: Message) -> Identity:
    return message.context, message.id if isinstance(message.id, str) else tuple(message.id)


def _shown(message: Message) -> str:
    text = message.id if isinstance(message.id, str) else message.id[0]
    return f"{text!r} ({', '.join(_first(name for name, _line in message.locations))})"


def _first(names: Iterable[str]) -> list[str]:
    return sorted(set(names))[:2]
