"""Answers without what differs from run to run: versions, UIDs, times, the namespace and generated names."""

import re
from typing import Any, Protocol

from tests.contract.client import Answer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MOVING = (
    (re.compile(r"(version in record|ResourceVersion in record) \(\d+\)"), r"\1 (RV)"),
    (re.compile(r"current: \d+"), "current: RV"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\b(Upper-|a{58})[a-z0-9]{5}\b"), r"\1*****"),
)
DROPPED = frozenset({"selfLink", "remainingItemCount"})


class Server(Protocol):
    """What is known of who answers."""

    ns: str
    url: str


class Normaliser:
    """One scenario's: the same UID or version is the same word in all of its answers."""

    def __init__(self, server: Server) -> None:
        self._namespace, self._url = server.ns, server.url
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def answer(self, answer: Answer) -> dict[str, Any]:
        """Status, body and warnings."""
        found: dict[str, Any] = {"status": answer.status, "body": self.value(answer.body)}
        if answer.warnings:
            found["warnings"] = [self._text(text) for text in answer.warnings]
        return found

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        found = {}
        generated = value.get("generateName") if isinstance(value.get("name"), str) else None
        for key, item in sorted(value.items()):
            if key in DROPPED or (key == "details" and not item):  # empty details say nothing
                continue
            if key == "resourceVersion":
                found[key] = self._version(item) if "uid" in value else "LIST"
            elif key == "continue":
                found[key] = "TOKEN" if item else item
            elif key == "managedFields":
                # Kube sorts by time, which differs from run to run; a real entry sometimes has none.
                entries = [{name: part for name, part in entry.items() if name != "time"} for entry in item]
                found[key] = sorted(self.value(entries), key=_entry)
            elif key == "name" and generated:
                found[key] = re.sub(r"[a-z0-9]{5}$", "*****", self._text(item))
            else:
                found[self._text(key)] = self.value(item)
        return found

    def _version(self, version: str) -> str:
        return self._versions.setdefault(version, f"RV{len(self._versions) + 1}")

    def _text(self, text: str) -> str:
        text = text.replace(self._namespace, "NS").replace(self._url, "URL")
        text = TIME.sub("TIME", text)
        for pattern, word in MOVING:
            text = pattern.sub(word, text)
        return UID.sub(lambda found: self._uids.setdefault(found[0], f"UID{len(self._uids) + 1}"), text)


def _entry(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(key, "")) for key in ("operation", "manager", "subresource", "apiVersion"))
