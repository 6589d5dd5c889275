"""Somebody signed in who reads pages without a browser."""

import re
import urllib.parse
import urllib.request

from tests.stack.installation import EMAIL, PASSWORD, Muster


class Reader:
    """The administrator of an installation; signs in with the first page, keeps its cookies, uses no proxy."""

    def __init__(self, muster: Muster) -> None:
        self._muster = muster
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
        )
        self._signed_in = False

    def page(self, path: str) -> str:
        """The HTML of a page."""
        if not self._signed_in:
            form = self._open("/account/login")
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
            assert token, form
            given = {"csrfmiddlewaretoken": token[1], "email": EMAIL, "password": PASSWORD}
            self._open("/account/login", urllib.parse.urlencode(given).encode())
            self._signed_in = True
        return self._open(path)

    def _open(self, path: str, sent: bytes | None = None) -> str:
        with self._opener.open(self._muster.url + path, sent, timeout=30) as answer:
            return str(answer.read().decode())
