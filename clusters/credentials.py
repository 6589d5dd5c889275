"""Encrypts the credential of a cluster at rest, with a key derived from SECRET_KEY (and its fallbacks)."""

import base64
from typing import Any

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from core.errors import MusterError


class Credential(msgspec.Struct, frozen=True):
    """What Muster shows to an API server: a bearer token, or a client certificate with its key (PEM)."""

    token: str = ""
    certificate: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return "Credential(…)"


class UnreadableCredential(MusterError):
    """The stored credential was encrypted with another SECRET_KEY: it must be entered again."""

    code = 502
    reason = "CredentialUnreadable"


def encrypt(credential: Credential) -> bytes:
    """The bytes to store in `Cluster.credential`."""
    return _fernet().encrypt(msgspec.json.encode(credential))


def decrypt(stored: Any) -> Credential:
    """The credential in `Cluster.credential` (bytes, or a memoryview from PostgreSQL)."""
    try:
        return msgspec.json.decode(_fernet().decrypt(bytes(stored)), type=Credential)
    except (InvalidToken, msgspec.DecodeError) as error:
        raise UnreadableCredential(
            "The stored credential cannot be read with this SECRET_KEY. Enter a token or kubeconfig again."
        ) from error


def _fernet() -> MultiFernet:
    return MultiFernet([Fernet(_key(secret)) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _key(secret: str | bytes) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"muster cluster credential")
    return base64.urlsafe_b64encode(derived.derive(secret if isinstance(secret, bytes) else secret.encode()))
