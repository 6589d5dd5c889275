"""A browser on pages that are rendered here: no server, no socket; static files come from the source tree."""

import mimetypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "http://127.0.0.1"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        yield chromium
        chromium.close()


def serve(page: Page, pages: Mapping[str, str], policy: str = POLICY) -> list[str]:
    """Answer `page`'s requests from `pages` (path → HTML) and static/. Returns the list of complaints it fills."""
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path in pages:
            headers = {"Content-Security-Policy": policy}
            route.fulfill(status=200, content_type="text/html", body=pages[path], headers=headers)
        elif path.startswith("/static/") and (file := ROOT / path.lstrip("/")).is_file():
            route.fulfill(status=200, content_type=mimetypes.guess_type(file.name)[0], body=file.read_bytes())
        else:
            route.fulfill(status=404, body=f"no {path}")

    page.route("**/*", answer)
    return complaints
