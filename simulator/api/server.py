"""The API server's state and its verbs for callers in the same process; HTTP and `InProcessClient` sit on top."""

import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from core.moments import rfc3339
from simulator.api import core_kinds, crds, writing
from simulator.api.errors import ApiError
from simulator.api.hooks import ServerHooks
from simulator.api.paths import ResourcePath
from simulator.api.rbac import Attributes, require
from simulator.api.requests import Target, User, WriteOptions
from simulator.api.resources import Registry, Resource
from simulator.api.store import HISTORY_LIMIT, Store
from simulator.api.tokens import Tokens
from simulator.client import Object
from simulator.faults import Faults


def wall_clock() -> datetime:
    return datetime.now(UTC)


class Server:
    """One simulated API server. All methods run on the event loop's thread."""

    def __init__(
        self,
        *,
        history_limit: int = HISTORY_LIMIT,
        admin_token: str = "",
        token_key: str = "",
        authority: str = "",
    ) -> None:
        self.store = Store(history_limit=history_limit)
        self.registry = Registry()
        self.faults = Faults()
        self.hooks = ServerHooks(self.faults)
        self.monotonic = time.monotonic
        self.time: Callable[[], datetime] = wall_clock
        self.closing = False
        self.authority = authority
        self.tokens = Tokens(self, admin_token, token_key)
        self.cluster_ips = 0
        # The queue webhook's `--enable-quota-validation`, off as in KAI's chart.
        self.quota_validation = False
        core_kinds.register(self.registry)
        self.faults.on_change(self.wake)

    def now(self) -> str:
        """The time as objects carry it, RFC 3339 in whole seconds."""
        return rfc3339(self.time())

    def new_uid(self) -> str:
        return str(uuid.uuid4())

    def next_cluster_ip(self) -> str:
        self.cluster_ips += 1
        high, low = divmod(self.cluster_ips, 254)
        return f"10.96.{high % 256}.{low + 1}"

    def stored_resource(self, resource: Resource) -> Resource:
        """The storage version of a served version."""
        if resource.from_storage is None:
            return resource
        return self.registry.stored_in(resource.storage) or resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The served resource; None also where a fault has its version not served."""
        if self.faults.active("version-not-served", group=group, version=version) is not None:
            return None
        return self.registry.find(group, version, plural)

    def require_conversion(self, resource: Resource) -> None:
        """Raises the 500 of a conversion webhook that is down, where this version needs it."""
        if self._conversion_is_down(resource):
            raise ApiError(500, "", self._conversion_failure(resource))

    def require_list_conversion(self, resource: Resource) -> None:
        """Raises the 429 that lists and watches get instead."""
        if self._conversion_is_down(resource):
            kind = resource.kind
            text = f"storage is (re)initializing: failed to list {kind.api_version}, Kind={kind.kind}"
            raise ApiError(429, "TooManyRequests", text, retry_after=1)

    def _conversion_is_down(self, resource: Resource) -> bool:
        if resource.from_storage is None or not resource.custom:
            return False
        return self.faults.active("conversion-down", group=resource.kind.group) is not None

    def _conversion_failure(self, resource: Resource) -> str:
        kind = self.stored_resource(resource).kind
        host = "dynamo-platform-dynamo-operator-webhook-service.dynamo-system.svc"
        return (
            f"conversion webhook for {kind.api_version}, Kind={kind.kind} failed: "
            f'Post "https://{host}:443/convert?timeout=30s": dial tcp 10.96.0.9:443: connect: connection refused'
        )

    def fill_namespace(self, name: str) -> None:
        """What controllers put into a new namespace: the default service account and the root CA's config map."""
        options = WriteOptions(field_manager="kube-controller-manager")
        filling = (
            ("serviceaccounts", {"metadata": {"name": "default"}}),
            ("configmaps", {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": self.authority}}),
        )
        for plural, body in filling:
            resource = self.registry.find("", "v1", plural)
            if resource and (name, body["metadata"]["name"]) not in self.store.collection(resource.storage).entries:
                writing.create(self, Target(resource, name), body, options)

    def install(self, crd: Object) -> None:
        """Serve a CRD's versions; ones that it no longer serves vanish."""
        spec = crd["spec"]
        for version in spec["versions"]:
            self.registry.remove(spec["group"], version["name"], spec["names"]["plural"])
        for resource in crds.resources_of(crd):
            self.registry.add(resource)

    def uninstall(self, crd: Object) -> None:
        """Stop serving a CRD and drop its objects."""
        spec = crd["spec"]
        for version in spec["versions"]:
            self.registry.remove(spec["group"], version["name"], spec["names"]["plural"])

    def authorize(self, user: User, method: str, query: Mapping[str, str], target: Target) -> None:
        """Raises 403 unless RBAC allows what a request asks for."""
        kind = target.resource.kind
        verb = _verb(method, query, target)
        wanted = Attributes(verb, kind.group, kind.plural, target.subresource, target.namespace or "", target.name)
        require(self.store, user, wanted)

    def authorize_apply(self, user: User, target: Target) -> None:
        """To apply what is not there is to create it. Raises 403 unless RBAC allows that."""
        if target.subresource or target.key in self.store.collection(target.resource.storage).entries:
            return
        kind = target.resource.kind
        require(
            self.store, user, Attributes("create", kind.group, kind.plural, "", target.namespace or "", target.name)
        )

    def authorize_path(self, user: User, method: str, path: str) -> None:
        """Raises 403 unless RBAC allows a path that belongs to no resource."""
        require(self.store, user, Attributes(method.lower(), path=path))

    def authorize_unknown(self, user: User, method: str, path: ResourcePath) -> None:
        """The same for a resource that is not served: whether it is there is told only to who may ask."""
        verb = _VERBS.get(method, method.lower())
        if not path.name:
            verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
        wanted = Attributes(verb, path.group, path.plural, path.subresource, path.namespace or "", path.name)
        require(self.store, user, wanted)

    def wake(self) -> None:
        """Let every watch look again."""
        for collection in self.store.collections.values():
            collection.wake()

    def close(self) -> None:
        """End all watches."""
        self.closing = True
        self.faults.clear()
        self.wake()


_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _verb(method: str, query: Mapping[str, str], target: Target) -> str:
    """RBAC's verb of a request."""
    verb = _VERBS.get(method, method.lower())
    if verb == "get" and (query.get("watch") in ("true", "1")):
        return "watch"
    if not target.name and not target.subresource:
        return {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    return verb
