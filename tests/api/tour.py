"""A walk through the API, asked as the administrator; and the register of the walks, one for each write."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from django.urls import resolve

from core.api import runai

V1, ORG = "/api/v1", "/api/v1/org-unit"
CREDENTIALS, AUTHORIZATION = "/api/v1/asset/credentials", "/api/v1/authorization"


@dataclass
class Tour:
    """The seeded world, asked as the administrator; what was asked is kept in order."""

    client: Client
    world: Any
    asked: list[tuple[str, int]] = field(default_factory=list)

    def __call__(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        """The JSON of the answer, which is a success; None where it has no body."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.content)
        return answer.json() if answer.content and "json" in answer.headers["Content-Type"] else None

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        """Any answer."""
        sent = json.dumps({} if body is None else body)
        answer = self.client.generic(method, path, sent, content_type="application/json", headers=headers)
        self.asked.append((operation_of(method, path), answer.status_code))
        return answer

    def is_gone(self, path: str) -> bool:
        """Whether a GET answers 404."""
        return bool(self.ask("GET", path).status_code == 404)

    def listed(self, path: str) -> list[Any]:
        """The rows of a list, whatever its envelope."""
        found = self("GET", path)
        return found if isinstance(found, list) else next(v for v in found.values() if isinstance(v, list))

    def opens(self, token: str) -> bool:
        """Whether a GET with a token is answered."""
        answer = Client().get(f"{AUTHORIZATION}/permissions", headers={"Authorization": f"Bearer {token}"})
        self.asked.append((operation_of("GET", f"{AUTHORIZATION}/permissions"), answer.status_code))
        return answer.status_code == 200

    def token(self, **grant: str) -> str:
        """The token of a grant, "" where it is refused."""
        answer = self.client.post(f"{V1}/token", json.dumps(grant), content_type="application/json")
        return str(answer.json().get("accessToken", ""))

    def secret_opens(self, client_id: str, secret: str) -> bool:
        """Whether a key's secret gives a token with which a GET is answered."""
        token = self.token(grantType="client_credentials", clientID=client_id, clientSecret=secret)
        return bool(token) and self.opens(token)

    def password_opens(self, email: str, password: str) -> bool:
        token = self.token(grantType="password", username=email, password=password)
        return bool(token) and self.opens(token)


def operation_of(method: str, path: str) -> str:
    """The operation that a request means, as Run:ai names it; Muster's own by its shape."""
    path = path.partition("?")[0]
    found = runai.find(method, path)
    return str(found) if found else f"{method} {re.sub(r'<[^>]+>', '{}', f'/{resolve(path).route}')}"


Walk = Callable[[Tour], None]
WRITES: dict[str, Walk] = {}


def walk(operation: str) -> Callable[[Walk], Walk]:
    """Register the walk of one operation."""

    def register(function: Walk) -> Walk:
        assert operation not in WRITES, operation
        WRITES[operation] = function
        return function

    return register
