"""Encryption at rest, each purpose with a key of its own derived from SECRET_KEY; its fallbacks still decrypt."""

import base64

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def cipher(purpose: str) -> MultiFernet:
    """The cipher of one purpose ("cluster credential"), which cannot read what was sealed for another."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_key(secret, purpose)) for secret in secrets])


def _key(secret: str | bytes, purpose: str) -> bytes:
    material = secret if isinstance(secret, bytes) else secret.encode()
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"muster {purpose}".encode())
    return base64.urlsafe_b64encode(derived.derive(material))
