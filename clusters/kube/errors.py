"""What can go wrong between Muster and a Kubernetes API server. `retryable` says whether waiting can help."""

from core.errors import MusterError


class GatewayError(MusterError):
    """Base of all. `cluster` is the cluster's name, `target` the object or path that was asked for."""

    code = 502
    reason = "ClusterError"

    def __init__(self, message: str, *, cluster: str = "", target: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.cluster = cluster
        self.target = target
        self.status = status


class Unavailable(GatewayError):
    """No answer in time, connection refused, TLS failure, 429 or 5xx."""

    reason = "Unavailable"
    retryable = True


class NotApiServer(Unavailable):
    """What answers there is something else: a page of a proxy, or JSON that no API server sends."""

    reason = "NotApiServer"


class Unauthorized(GatewayError):
    """401: the token expired or was revoked. Waiting does not help, a new credential does."""

    reason = "Unauthorized"


class Forbidden(GatewayError):
    """403: the service account lacks a permission; the message names verb and resource."""

    reason = "Forbidden"


class FieldConflict(GatewayError):
    """409 of a server-side apply: another manager owns a field. Never forced without being asked."""

    reason = "FieldConflict"


class AlreadyChanged(GatewayError):
    """409 of an update or a delete precondition: the object is no longer the one that was read."""

    reason = "Conflict"
    retryable = True


class Rejected(GatewayError):
    """400 or 422: the API server or a webhook refuses the object."""

    reason = "Rejected"


class TooLarge(Rejected):
    """413, or the 500 with which an API server passes on that its etcd takes no object of this size."""

    reason = "TooLarge"


class NotServed(GatewayError):
    """The group, version or kind is not served: a CRD is missing."""

    reason = "NotServed"


class Gone(GatewayError):
    """410: the resourceVersion is too old; list again."""

    reason = "Expired"
    retryable = True


class BadCertificate(GatewayError):
    """The CA, client certificate or key is not one; no connection was tried."""

    reason = "BadCertificate"


class NamespaceMissing(GatewayError):
    """404 of a write into a namespace that is not there (yet)."""

    reason = "NamespaceMissing"
    retryable = True


class BeingDeleted(GatewayError):
    """Somebody deleted an object of ours and finalizers hold it: what is written now would go with it."""

    reason = "BeingDeleted"
    retryable = True


class NameTaken(GatewayError):
    """An object of this name exists and is somebody else's. `made_by` is its first field manager."""

    reason = "NameTaken"

    def __init__(self, message: str, *, made_by: str, target: str = "") -> None:
        super().__init__(message, target=target, status=409)
        self.made_by = made_by
