"""Reads a pasted kubeconfig and reduces it to server, CA and token or client certificate. Pure.

Nothing in it is run, opened or resolved: what would make a client do so is refused by name
(performance-reliability-security §8.1; Flux GHSA-vvmq-fwmg-2gjc).
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from clusters.addresses import check_server
from clusters.credentials import Credential
from core.errors import Fault, InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
FIELD = "kubeconfig"

_REFUSED_USER = {
    "exec": gettext_noop("it runs a program on the machine that reads it"),
    "auth-provider": gettext_noop("it runs a sign-in plug-in"),
    "tokenFile": gettext_noop("it names a file on the machine that reads it"),
    "client-certificate": gettext_noop("it names a file; paste the certificate as client-certificate-data"),
    "client-key": gettext_noop("it names a file; paste the key as client-key-data"),
    "username": gettext_noop("API servers no longer take passwords"),
    "password": gettext_noop("API servers no longer take passwords"),
    "as": gettext_noop("acting as somebody else is not supported"),
    "as-uid": gettext_noop("acting as somebody else is not supported"),
    "as-groups": gettext_noop("acting as somebody else is not supported"),
    "as-user-extra": gettext_noop("acting as somebody else is not supported"),
}
_REFUSED_CLUSTER = {
    "insecure-skip-tls-verify": gettext_noop("it turns off the check of the server’s certificate"),
    "proxy-url": gettext_noop("it sends requests and credential through a proxy"),
    "certificate-authority": gettext_noop("it names a file; paste the CA as certificate-authority-data"),
    "tls-server-name": gettext_noop("it changes which server is trusted"),
    "disable-compression": "",
    "extensions": "",
}
_HARMLESS = frozenset({"disable-compression", "extensions"})


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What is left of a kubeconfig. PEM texts; `certificate_authority` may be empty (the system's CAs)."""

    server: str
    certificate_authority: str
    credential: Credential


class _PlainLoader(yaml.CSafeLoader):
    """Strings stay strings where YAML would make dates or numbers of them: nothing that is read here is one."""


_LEFT_AS_TEXT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _LEFT_AS_TEXT]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_kubeconfig(text: str) -> ClusterAccess:
    """The access that the current context of `text` gives. Raises `InvalidInput` naming everything that is refused."""
    document = _load(text)
    context = _named(document, "contexts", "context", _current(document))
    cluster = _named(document, "clusters", "cluster", _text(context, "cluster", "contexts"))
    user = _named(document, "users", "user", _text(context, "user", "contexts"))
    faults = [*_refusals(cluster, _REFUSED_CLUSTER, "clusters"), *_refusals(user, _REFUSED_USER, "users")]
    if faults:
        raise InvalidInput(faults)
    server = check_server(_text(cluster, "server", "clusters"), field=FIELD)
    authority = _pem(cluster, "certificate-authority-data", "CERTIFICATE")
    return ClusterAccess(server, authority, _credential(user))


def _load(text: str) -> Mapping[str, Any]:
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise _fault(_("it is larger than 256 KiB"))
    try:
        _check_events(text)
        document = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 (derived from CSafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        why = str(error).splitlines()[0][:120]
        raise _fault(_("this is not readable YAML: %(why)s") % {"why": why}) from error
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise _fault(_("this is not a kubeconfig"))
    return document


def _check_events(text: str) -> None:
    """Before anything is composed (which recurses): no aliases, so no bombs, and bounded depth."""
    depth = 0
    for event in yaml.parse(text, Loader=_PlainLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _fault(_("aliases (*name) are not allowed"))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _fault(_("it is nested deeper than %(limit)d levels") % {"limit": MAX_DEPTH})


def _current(document: Mapping[str, Any]) -> str:
    current = document.get("current-context")
    contexts = document.get("contexts")
    if not current and isinstance(contexts, list) and len(contexts) == 1 and isinstance(contexts[0], dict):
        current = contexts[0].get("name")
    if not isinstance(current, str) or not current:
        raise _fault(_("it has no current-context"))
    return current


def _named(document: Mapping[str, Any], plural: str, singular: str, name: str) -> Mapping[str, Any]:
    entries = document.get(plural)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(singular), dict):
            found: Mapping[str, Any] = entry[singular]
            return found
    raise _fault(_("%(place)s has no entry %(name)s") % {"place": plural, "name": repr(name[:80])})


def _refusals(entry: Mapping[str, Any], refused: Mapping[str, str], where: str) -> Iterable[Fault]:
    for key, reason in refused.items():
        if key not in _HARMLESS and entry.get(key) not in (None, False, ""):
            message = _("%(key)s is refused: %(why)s") % {"key": key, "why": _(reason)}
            yield Fault(f"{FIELD}.{where}.{key}", message, _(_ALLOWED))


def _credential(user: Mapping[str, Any]) -> Credential:
    token = user.get("token")
    if isinstance(token, str) and token.strip():
        return Credential(token=check_token(token.strip(), field=FIELD))
    certificate = _pem(user, "client-certificate-data", "CERTIFICATE")
    key = _pem(user, "client-key-data", "PRIVATE KEY")
    if not (certificate and key):
        raise _fault(_("its user has neither a token nor a client certificate with its key"))
    return Credential(certificate=certificate, key=key)


def check_token(token: str, *, field: str) -> str:
    """The bearer token, or `InvalidInput`: it becomes a header, so printable ASCII without spaces only."""
    if not token or len(token) > 16384 or not all("!" <= character <= "~" for character in token):
        allowed = _("printable ASCII characters without spaces")
        raise InvalidInput.of(field, _("this is not a bearer token"), allowed)
    return token


def check_pem(text: str, label: str, *, field: str) -> str:
    """The PEM text, or `InvalidInput`."""
    text = text.strip()
    if f"{label}-----" not in text or not text.startswith("-----BEGIN ") or not text.isascii():
        message = _("this is not a PEM %(label)s") % {"label": label.lower()}
        raise InvalidInput.of(field, message, f"-----BEGIN {label}-----")
    return text


def _pem(entry: Mapping[str, Any], key: str, label: str) -> str:
    encoded = entry.get(key)
    if not encoded:
        return ""
    try:
        decoded = base64.b64decode(str(encoded), validate=True).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise _fault(_("%(key)s is not base64") % {"key": key}) from error
    return check_pem(decoded, label, field=f"{FIELD}.{key}")


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise _fault(_("%(place)s has no %(key)s") % {"place": where, "key": key})
    return value


_ALLOWED = gettext_noop("server, certificate-authority-data, token, or client-certificate-data with client-key-data")


def _fault(message: str) -> InvalidInput:
    return InvalidInput.of(FIELD, message, _(_ALLOWED))
