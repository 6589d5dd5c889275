"""Says in words what OpenSSL's reasons mean for whoever entered the cluster's address and certificates. Pure."""

import re
from collections.abc import Mapping

# As OpenSSL says it, through `ssl`: "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: … (_ssl.c:1006)".
_SAID = re.compile(r"\[(?:SSL|X509|PEM|ASN1)(?:: (?P<reason>[A-Z0-9_]+))?\] (?P<text>.+?)(?: \(_ssl\.c:\d+\))?$")
_PLACE = re.compile(r" \(_ssl\.c:\d+\)$")
_DISTRUSTED = re.compile(r"certificate verify failed: (.+?) \(_ssl")

_PLAIN = "What listens at this address does not speak TLS: it may be a plain HTTP port, or a proxy"
_HUNG_UP = (
    "The server hung up before TLS was agreed on: a proxy or load balancer may stand there without an API server "
    "behind it, or another service listens at this port"
)
_CLIENT = "The API server does not accept the client certificate: replace the cluster's kubeconfig"
_NOTHING_COMMON = "The server has no version of TLS from 1.2 on, or no cipher, that Muster takes"
_KEY = "The client key is not the one of the client certificate"
# By a part of OpenSSL's reason; the first that fits counts.
_MEANINGS: Mapping[str, str] = {
    "UNEXPECTED_EOF": _HUNG_UP,
    "WRONG_VERSION_NUMBER": _PLAIN,
    "RECORD_LAYER_FAILURE": _PLAIN,
    "PACKET_LENGTH_TOO_LONG": _PLAIN,
    "HTTP_REQUEST": _PLAIN,
    "UNSUPPORTED_PROTOCOL": _NOTHING_COMMON,
    "PROTOCOL_VERSION": _NOTHING_COMMON,
    "HANDSHAKE_FAILURE": _NOTHING_COMMON,
    "INSUFFICIENT_SECURITY": _NOTHING_COMMON,
    "UNRECOGNIZED_NAME": "The server does not know the host name in the address",
    "CERTIFICATE_REQUIRED": _CLIENT,
    "ALERT_BAD_CERTIFICATE": _CLIENT,
    "ALERT_CERTIFICATE": _CLIENT,
    "ALERT_UNKNOWN_CA": _CLIENT,
    "ALERT_ACCESS_DENIED": _CLIENT,
    "INTERNAL_ERROR": "The server reports a failure of its own while TLS is being agreed on",
    "KEY_VALUES_MISMATCH": _KEY,
    "KEY_TYPE_MISMATCH": _KEY,
    "KEY_TOO_SMALL": "The key of the certificate is too short to be safe",
    "MD_TOO_WEAK": "The certificate is signed in a way that is not safe any more",
}


def tls_words(text: str) -> str:
    """What an error of TLS means, with its own words behind; empty for what is no such error."""
    if distrusted := _DISTRUSTED.search(text):
        return f"The API server's certificate is not trusted ({distrusted[1]}): replace the cluster's kubeconfig."
    said = _SAID.search(text)
    if said is None:
        return ""
    reason = said["reason"] or ""
    return f"{_meaning(reason) or 'TLS could not be agreed on'} ({_technical(reason, said['text'])})."


def certificate_words(text: str) -> str:
    """Why a CA or client certificate cannot be used, by OpenSSL's text of it."""
    said = _SAID.search(text)
    reason, technical = (said["reason"] or "", said["text"]) if said else ("", _PLACE.sub("", text))
    if "cadata" in technical:
        return f"The CA is no PEM certificate, or is cut off ({technical[:200]})."
    if "PEM lib" in technical:
        return f"The client certificate or its key is no PEM text, or is cut off ({technical[:200]})."
    told = _technical(reason, technical)
    return f"{_meaning(reason) or 'The CA or client certificate cannot be used'} ({told})."


def _meaning(reason: str) -> str:
    return next((words for part, words in _MEANINGS.items() if part in reason), "")


def _technical(reason: str, text: str) -> str:
    return f"{reason}: {text[:200]}" if reason else text[:200]
