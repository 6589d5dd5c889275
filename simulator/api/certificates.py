"""The simulated cluster's own CA and server certificate, made once per data directory."""

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=3650)
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of the PEM files; `key` is the server's."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def authority_text(self) -> str:
        return self.authority.read_text()


def ensure_certificates(directory: Path, host: str) -> Certificates:
    """The certificates in a directory for this host (beside loopback); makes them where they are missing."""
    found = Certificates(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    if all(path.exists() for path in (found.authority, found.certificate, found.key)) and _covers(found, host):
        return found
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _sign(_builder("muster-simulator-ca", authority_key), authority_key, "muster-simulator-ca", ca=True)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder("kube-apiserver", key).add_extension(_alternatives(host), critical=False)
    certificate = _sign(builder, authority_key, "muster-simulator-ca", ca=False)
    _write(found.authority, authority.public_bytes(serialization.Encoding.PEM))
    _write(found.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    _write(found.key, _private_pem(key))
    return found


def _builder(name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )


def _sign(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, issuer: str, *, ca: bool
) -> x509.Certificate:
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    builder = builder.issuer_name(_name(issuer)).add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if ca:
        subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = builder.add_extension(subject, critical=False).add_extension(_SIGNING, critical=True)
    else:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(usage, critical=False)
    return builder.sign(key, hashes.SHA256())


_SIGNING = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternatives(host: str) -> x509.SubjectAlternativeName:
    addresses = {"127.0.0.1", "::1", "10.96.0.1"}
    names = set(_NAMES)
    try:
        addresses.add(str(ipaddress.ip_address(host)))
    except ValueError:
        names.add(host)
    entries: list[x509.GeneralName] = [x509.DNSName(name) for name in sorted(names)]
    entries += [x509.IPAddress(ipaddress.ip_address(address)) for address in sorted(addresses)]
    return x509.SubjectAlternativeName(entries)


def _covers(found: Certificates, host: str) -> bool:
    certificate = x509.load_pem_x509_certificate(found.certificate.read_bytes())
    present = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    expired = certificate.not_valid_after_utc < datetime.now(UTC) + timedelta(days=1)
    return present == _alternatives(host) and not expired


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
