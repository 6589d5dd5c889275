"""`Idempotency-Key` on POST: for 24 hours the same key, sender and request get the same answer, once done.

The answer is stored in the transaction of the change, so a process that dies leaves both or neither. Stored answers
may hold secrets that are shown once, so they are encrypted; and the rights that the change took are asked again.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.json_rendering import encode
from core.api.rates import subject_of
from core.errors import InvalidInput
from core.models import IdempotentAnswer
from core.rights_asked import Asked, ask_again, noting
from core.sealing import cipher

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
PURPOSE = "idempotent answer"
KEPT = timedelta(hours=24)
# After this a claim without an answer belongs to a process that died.
CLAIMED = timedelta(seconds=60)
KEY = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?\Z")
# Answers that say nothing about the request itself: the next try may get another one.
_PASSING = frozenset({401, 403, 408, 409, 412, 428, 429})
_HEADERS = ("ETag", "Location")


class KeyReused(exceptions.APIException):
    """The key was used for another request: 422."""

    status_code = 422
    default_detail = "This Idempotency-Key was used with another path or body within 24 hours. Take a new key."
    default_code = "key_reused"


class InFlight(exceptions.APIException):
    """The request with this key is still being answered: 409."""

    status_code = 409
    default_detail = "The request with this Idempotency-Key is still being answered. Ask again in a moment."
    default_code = "in_flight"
    wait = 1.0


class AnswerLost(exceptions.APIException):
    """The request was answered, and that answer cannot be read any more: 409. It is not run again by itself."""

    status_code = 409
    default_detail = (
        "The request with this Idempotency-Key was carried out, but its answer cannot be given again: it was stored by "
        "another version of Muster, or with another secret key. See what it made; ask for more with a new key."
    )
    default_code = "answer_lost"


@dataclass
class Claim:
    """The right to answer the one request of a key."""

    digest: str
    token: uuid.UUID
    asked: list[Asked] = field(default_factory=list, init=False)
    is_settled: bool = field(default=False, init=False)

    def keep(self, answer: Response) -> None:
        """Store `answer`; call inside the transaction of the change."""
        headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        stored = _seal(encode([answer.status_code, answer.data, headers, self.asked]))
        self._mine().update(answer=stored)

    def settle(self, answer: Response) -> None:
        """The request is over: store a refusal that would be the same again, else give the key back."""
        if self.is_settled:
            return
        self.is_settled = True
        if answer.status_code >= 500 or answer.status_code in _PASSING:
            self._mine().delete()
        else:
            self.keep(answer)

    def _mine(self) -> Any:
        return IdempotentAnswer.objects.filter(digest=self.digest, token=self.token)


def begin(request: Request) -> Claim | Response | None:
    """What the request's key says: None without one, the stored answer, or the right to answer.

    None too for a question, whose view `asks_only`: who repeats it is told what holds now. Raises `InvalidInput`,
    `KeyReused`, `InFlight`, `AnswerLost`; `NotPermitted` where a right is missing that the answer took.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not KEY.match(key):
        raise InvalidInput.of(HEADER, "This is not a key", "1 to 255 printable ASCII characters")
    if getattr((request.parser_context or {}).get("view"), "asks_only", False):
        return None
    digest = _hash(subject_of(request).encode(), key.encode())
    claim, fingerprint = Claim(digest, uuid.uuid4()), _fingerprint(request)
    if _claim(claim, fingerprint):
        return claim
    row = IdempotentAnswer.objects.filter(digest=digest).first()
    if row is None or (row.fingerprint == fingerprint and row.answer is None):
        raise InFlight
    if row.fingerprint != fingerprint:
        raise KeyReused
    return _replay(request, bytes(row.answer))  # type: ignore[arg-type]  # it is not None


def once(claim: Claim, view: Callable[..., Response]) -> Callable[..., Response]:
    """`view` with its answer stored in one transaction with what it changes."""

    def run(*args: Any, **kwargs: Any) -> Response:
        with transaction.atomic():
            with noting(claim.asked):
                answer = view(*args, **kwargs)
            claim.keep(answer)
        claim.is_settled = True
        return answer

    return run


def _claim(claim: Claim, fingerprint: str) -> bool:
    """Take the key where it is free, over, or its process died. One INSERT or one guarded UPDATE decides."""
    now = timezone.now()
    fresh = {"token": claim.token, "fingerprint": fingerprint, "claimed_at": now, "expires_at": now + KEPT}
    try:
        with transaction.atomic():
            IdempotentAnswer.objects.create(digest=claim.digest, **fresh)
    except IntegrityError:
        free = Q(expires_at__lt=now) | Q(answer=None, claimed_at__lt=now - CLAIMED, fingerprint=fingerprint)
        return IdempotentAnswer.objects.filter(free, digest=claim.digest).update(**fresh, answer=None) == 1
    return True


def _fingerprint(request: Request) -> str:
    try:
        body = request._request.body
    except RequestDataTooBig as error:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raise exceptions.ParseError(f"The body is larger than {limit} bytes.") from error
    return _hash(request.get_full_path().encode(), body)


def _replay(request: Request, stored: bytes) -> Response:
    try:
        status, data, headers, asked = json.loads(cipher(PURPOSE).decrypt(stored))
    except (InvalidToken, ValueError) as error:
        raise AnswerLost from error
    ask_again(request.user, asked)
    return Response(data, status=status, headers={**headers, REPLAYED: "true"})


def _hash(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def _seal(text: bytes) -> bytes:
    return cipher(PURPOSE).encrypt(text)
