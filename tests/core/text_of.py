"""What a page says, as text."""

import re
from html.parser import HTMLParser
from typing import Any


class _Notes(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []
        self._inside = self._of_time = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "time" and self._inside:
            self.notes[-1] += "when "
            self._of_time = True
        if dict(attrs).get("class") == "stored-now":
            self.notes.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "div"
        self._of_time = self._of_time and tag != "time"

    def handle_data(self, data: str) -> None:
        if self._inside and not self._of_time:
            self.notes[-1] += data


def stored_notes(answer: Any) -> list[str]:
    """What stands beside fields that somebody else saved meanwhile, in the order of the page; moments as “when”."""
    parser = _Notes()
    parser.feed(answer.content.decode())
    return [re.sub(r"\s+", " ", note).strip() for note in parser.notes]
