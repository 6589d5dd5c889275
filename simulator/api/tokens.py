"""Bearer tokens: the administrator's, and those of service accounts (requested ones, and ones in Secrets)."""

import base64
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import jwt

from simulator.api.errors import ApiError
from simulator.api.requests import ADMIN, ANONYMOUS, User
from simulator.api.store import Entry
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

AUDIENCE = "https://kubernetes.default.svc"
ISSUER = "https://kubernetes.default.svc.cluster.local"
ACCOUNT = "kubernetes.io/service-account.name"
ACCOUNT_UID = "kubernetes.io/service-account.uid"
_CLAIM = "kubernetes.io"
_ALGORITHM = "HS256"


class Tokens:
    """Issues tokens and knows whose they are. A token dies with its account (by uid) and its Secret."""

    def __init__(self, server: "Server", admin_token: str = "", key: str = "") -> None:
        self._server = server
        self.admin_token = admin_token or secrets.token_urlsafe(32)
        self.key = key or secrets.token_urlsafe(48)

    def user_of(self, token: str | None) -> User:
        """Raises 401 for a token that is not valid; without a token the user is anonymous."""
        if token is None:
            return ANONYMOUS
        if secrets.compare_digest(token.encode(), self.admin_token.encode()):
            return ADMIN
        claims = self._claims(token)
        if claims is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return _service_account_user(claims[_CLAIM])

    def issue(self, account: Entry, seconds: int, audiences: list[str]) -> tuple[str, datetime]:
        """A token of a service account with its expiry."""
        expires = self._server.time() + timedelta(seconds=seconds)
        payload = {**self._payload(account), "exp": int(expires.timestamp()), "aud": audiences or [AUDIENCE]}
        return jwt.encode(payload, self.key, algorithm=_ALGORITHM), expires

    def fill_secret(self, secret: Object) -> Object:
        """The data that the token controller puts into a Secret of type service-account-token."""
        metadata = secret["metadata"]
        annotations = metadata.get("annotations") or {}
        account = self._account(metadata.get("namespace", ""), annotations.get(ACCOUNT, ""))
        if account is None or (secret.get("data") or {}).get("token"):
            return secret
        payload = self._payload(account)
        payload[_CLAIM]["secret"] = {"name": metadata.get("name", "")}
        token = jwt.encode({**payload, "aud": [AUDIENCE]}, self.key, algorithm=_ALGORITHM)
        data = {
            **(secret.get("data") or {}),
            "token": base64.b64encode(token.encode()).decode(),
            "ca.crt": base64.b64encode(self._server.authority.encode()).decode(),
            "namespace": base64.b64encode(metadata.get("namespace", "").encode()).decode(),
        }
        return {
            **secret,
            "data": data,
            "metadata": {**metadata, "annotations": {**annotations, ACCOUNT_UID: account.uid}},
        }

    def _payload(self, account: Entry) -> dict[str, Any]:
        namespace, name = account.key
        return {
            "iss": ISSUER,
            "iat": int(self._server.time().timestamp()),
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "jti": self._server.new_uid(),
            _CLAIM: {"namespace": namespace, "serviceaccount": {"name": name, "uid": account.uid}},
        }

    def _claims(self, token: str) -> dict[str, Any] | None:
        try:
            options: Any = {"verify_iat": False}
            claims: dict[str, Any] = jwt.decode(
                token, self.key, algorithms=[_ALGORITHM], audience=AUDIENCE, options=options
            )
        except jwt.InvalidTokenError:
            return None
        bound = claims.get(_CLAIM) or {}
        given = bound.get("serviceaccount") or {}
        account = self._account(bound.get("namespace", ""), given.get("name", ""))
        if account is None or account.uid != given.get("uid"):
            return None
        secret = bound.get("secret")
        if secret is not None:
            entries = self._server.store.collection(("", "secrets")).entries
            if (bound["namespace"], secret.get("name", "")) not in entries:
                return None
        return claims

    def _account(self, namespace: str, name: str) -> Entry | None:
        return self._server.store.collection(("", "serviceaccounts")).entries.get((namespace, name))


def _service_account_user(claim: dict[str, Any]) -> User:
    namespace = claim["namespace"]
    account = claim["serviceaccount"]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{account['name']}", groups, account["uid"])
