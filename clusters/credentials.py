"""Encrypts the credential of a cluster at rest, with a key derived from SECRET_KEY (and its fallbacks)."""

from typing import Any

import msgspec
from cryptography.fernet import InvalidToken

from core.errors import MusterError
from core.sealing import cipher

PURPOSE = "cluster credential"


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
    return cipher(PURPOSE).encrypt(msgspec.json.encode(credential))


def decrypt(stored: Any) -> Credential:
    """The credential in `Cluster.credential` (bytes, or a memoryview from PostgreSQL)."""
    try:
        return msgspec.json.decode(cipher(PURPOSE).decrypt(bytes(stored)), type=Credential)
    except (InvalidToken, msgspec.DecodeError) as error:
        raise UnreadableCredential(
            "The stored credential cannot be read with this SECRET_KEY. Enter a token or kubeconfig again."
        ) from error
