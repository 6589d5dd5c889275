"""Secrets of projects: what each kind holds, which objects it becomes, and its encryption at rest.

A Hugging Face token is written under both names and keys that public guides use (J1): `hf-token-secret` with
`HF_TOKEN`, `hf-token` with `token`; each of the two holds both keys.
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.names import is_rfc1123_subdomain
from core.errors import Fault, InvalidInput, MusterError
from core.sealing import cipher

PURPOSE = "project secret"
LARGEST_BYTES = 256 * 1024
HUGGING_FACE_NAMES = ("hf-token-secret", "hf-token")
HUGGING_FACE_KEYS = ("HF_TOKEN", "token")
DOCKER_KEY = ".dockerconfigjson"

KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
PRINTABLE = re.compile(r"[!-~]*")
PASSWORD = re.compile(r"[^\x00-\x1f\x7f-\x9f]*")
USER = re.compile(r"[^\x00-\x1f\x7f-\x9f:]*")


class SecretKind(models.TextChoices):
    """What a secret is for."""

    HUGGING_FACE = "hugging-face", gettext_lazy("Hugging Face token")
    REGISTRY = "registry", gettext_lazy("container registry")
    OPAQUE = "opaque", gettext_lazy("keys and values")


class UnreadableSecret(MusterError):
    """The stored secret was encrypted with another SECRET_KEY: it must be entered again."""

    code = 502
    reason = "SecretUnreadable"


def checked_content(kind: str, name: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The data of the Secret that `fields` of a form make. Raises `InvalidInput` naming the field.

    Fields: `token`; or `server`, `username`, `password`; or any keys.
    """
    faults: list[Fault] = []
    if kind not in SecretKind.values:
        faults.append(Fault("kind", _("“%(kind)s” is not a kind") % {"kind": kind[:40]}, ", ".join(SecretKind.values)))
    if kind != SecretKind.HUGGING_FACE:
        faults += _name_faults(name)
    required: dict[str, tuple[str, ...]] = {
        SecretKind.HUGGING_FACE: ("token",),
        SecretKind.REGISTRY: ("server", "username", "password"),
    }
    faults += [
        Fault(field, _("It is required")) for field in required.get(kind, ()) if not fields.get(field, "").strip()
    ]
    if kind == SecretKind.OPAQUE:
        faults += _key_faults(fields)
    else:
        faults += _sent_faults(kind, fields)
    if sum(len(value.encode()) for value in fields.values()) > LARGEST_BYTES:
        faults.append(Fault("content", _("The secret is too large"), _("up to %(n)d bytes") % {"n": LARGEST_BYTES}))
    if faults:
        raise InvalidInput(faults)
    return _content(kind, fields)


def check_name(name: str) -> None:
    """Raise `InvalidInput` where it cannot be the name of a secret's object."""
    if faults := _name_faults(name):
        raise InvalidInput(faults)


def _name_faults(name: str) -> list[Fault]:
    if is_rfc1123_subdomain(name):
        return []
    message = _("“%(name)s” cannot be the name of a secret") % {"name": name[:80]}
    return [Fault("name", message, _("lower-case letters, digits, “-” and “.”"))]


def _key_faults(fields: Mapping[str, str]) -> list[Fault]:
    if not fields:
        return [Fault("content", _("At least one key is required"))]
    allowed = _("letters, digits, “-”, “_” and “.”")
    return [
        Fault("content", _("“%(key)s” cannot be a key") % {"key": key[:60]}, allowed)
        for key in fields
        if not KEY.match(key)
    ]


def _sent_faults(kind: str, fields: Mapping[str, str]) -> list[Fault]:
    """What cannot be sent as it is: a token is part of a header, a registry's login is `user:password` (RFC 7617)."""
    plain = _("printable ASCII characters without spaces")
    rules: dict[str, tuple[tuple[str, re.Pattern[str], str], ...]] = {
        SecretKind.HUGGING_FACE: (("token", PRINTABLE, plain),),
        SecretKind.REGISTRY: (
            ("server", PRINTABLE, plain),
            ("username", USER, _("no “:” and no control characters")),
            ("password", PASSWORD, _("no control characters")),
        ),
    }
    return [
        Fault(field, _("It holds a character that cannot be sent"), allowed)
        for field, rule, allowed in rules.get(kind, ())
        if not rule.fullmatch(fields.get(field, "").strip())
    ]


def _content(kind: str, fields: Mapping[str, str]) -> dict[str, str]:
    if kind == SecretKind.HUGGING_FACE:
        return dict.fromkeys(HUGGING_FACE_KEYS, fields["token"].strip())
    if kind == SecretKind.OPAQUE:
        return dict(fields)
    username, password = fields["username"].strip(), fields["password"]
    auth = base64.b64encode(f"{username}:{password}".encode()).decode()
    login = {"username": username, "password": password, "auth": auth}
    return {DOCKER_KEY: json.dumps({"auths": {fields["server"].strip(): login}})}


def object_names(kind: str, name: str) -> tuple[str, ...]:
    """Names of the Secret objects that one secret of a project becomes."""
    return HUGGING_FACE_NAMES if kind == SecretKind.HUGGING_FACE else (name,)


def object_type(kind: str) -> str:
    """Kubernetes' type of the Secret."""
    return "kubernetes.io/dockerconfigjson" if kind == SecretKind.REGISTRY else "Opaque"


def encrypt(content: Mapping[str, str]) -> bytes:
    """The bytes to store in `ProjectSecret.content`."""
    return cipher(PURPOSE).encrypt(json.dumps(dict(content)).encode())


def decrypt(stored: Any) -> dict[str, str]:
    """The content of `ProjectSecret.content` (bytes, or a memoryview from PostgreSQL)."""
    try:
        content: dict[str, str] = json.loads(cipher(PURPOSE).decrypt(bytes(stored)))
    except (InvalidToken, ValueError) as error:
        raise UnreadableSecret(
            "A stored secret cannot be read with this SECRET_KEY. Enter its content again."
        ) from error
    return content
