"""Which API server addresses Muster connects to: the guard against requests into its own surroundings. Pure but for
name resolution.

Private networks are where clusters live, so they are allowed; link-local, metadata and odd spellings are not.
"""

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from core.errors import InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

_PLAIN = re.compile(r"[A-Za-z0-9._~:/?#@\[\]%-]+")
_ODD_SEGMENT = re.compile(r"/(\.{1,2})?(?=/)|/\.{1,2}$|%")
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_METADATA = frozenset(
    ipaddress.ip_address(address) for address in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192")
)
_ALLOWED = gettext_noop("https://host:port; plain http only to 127.0.0.1 or localhost")


def check_server(url: str, *, field: str = "server") -> str:
    """`url` without a trailing slash, or `InvalidInput`: scheme, spelling, no user info, query or fragment.

    Names are not resolved here: `is_refused` judges the address that a connection really has.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput.of(field, _("this is not a URL"), _(_ALLOWED)) from error
    # Parsers drop control characters and spaces, and what becomes of a dot segment depends on who reads it.
    if not _PLAIN.fullmatch(url) or _ODD_SEGMENT.search(parts.path):
        raise InvalidInput.of(field, _("this is not a URL"), _(_ALLOWED))
    host = parts.hostname or ""
    if not host or parts.username is not None or parts.query or parts.fragment or port == 0 or len(url) > 500:
        message = _("give the address of the API server only, without user, query or fragment")
        raise InvalidInput.of(field, message, _(_ALLOWED))
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK_HOSTS):
        raise InvalidInput.of(field, _("the connection must be encrypted"), _(_ALLOWED))
    if _is_oddly_spelt(host) or (host not in LOOPBACK_HOSTS and _is_address(host) and is_refused(host, host)):
        raise InvalidInput.of(field, _("this address is not allowed for an API server"), _(_ALLOWED))
    return url.rstrip("/")


def is_refused(address: str, host: str) -> bool:
    """Whether a connection made for `host` that ended at `address` must not be used.

    Loopback only where `host` says so itself, so that a name cannot be pointed at Muster's own ports.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.is_loopback:
        return host.strip("[]") not in LOOPBACK_HOSTS
    return ip in _METADATA or ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_oddly_spelt(host: str) -> bool:
    """`0x7f.1`, `2130706433`, `127.1`, `0177.0.0.1`, `::ffff:127.0.0.1`: what C libraries take for an address."""
    if _is_address(host):
        ip = ipaddress.ip_address(host.partition("%")[0])
        return getattr(ip, "ipv4_mapped", None) is not None
    try:
        socket.inet_aton(host)
    except (OSError, UnicodeEncodeError):
        return False
    return True
