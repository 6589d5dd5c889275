"""The live calls that pages make to a cluster: testing a connection, reading a log. Each with short timeouts; none
on a page load, but where it is what was asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.adopting import Candidate, Comparison, field_changes
from clusters.connections import connection_of, gateway_for
from clusters.credentials import Credential
from clusters.kinds import POD
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.kube.errors import BadCertificate, GatewayError
from clusters.kube.gateway import Gateway
from clusters.kubeconfig import ClusterAccess
from clusters.models import Cluster, Pod
from clusters.rbac import needed_permissions
from core.errors import MusterError

TIMEOUTS = Timeouts(connect=3.0, read=5.0)
LOG_SECONDS = 3.0
MOST_COMPARED = 100
_NO_API_SERVER = _("What answers there is no API server of Kubernetes.")
# What a failure means, by its reason; what the other side or the system said stands after it, in its words.
FAILURES: dict[str, Promise] = {
    "Unavailable": _("The API server gave no answer."),
    "Unauthorized": _(
        "The API server does not take the credential: it expired, was revoked, or is of another cluster."
    ),
    "Forbidden": _("The credential may not do this."),
    "NotApiServer": _NO_API_SERVER,
    "NotServed": _NO_API_SERVER,  # some proxies say "404 page not found" as API servers do
    "BadCertificate": _("The certificate or its key cannot be used."),
}


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What a test found. `missing` names each permission that the credential lacks."""

    reachable: bool
    version: str = ""
    error: str = ""
    reason: str = ""
    missing: tuple[str, ...] = field(default=())

    @property
    def meaning(self) -> str | Promise:
        """What the failure means, in the viewer's language; empty where the error says it all."""
        return FAILURES.get(self.reason, "")


def try_access(access: ClusterAccess) -> ConnectionReport:
    """Try a connection that is not stored."""
    credential: Credential = access.credential
    connection = Connection(
        name="",
        server=access.server,
        certificate_authority=access.certificate_authority,
        token=credential.token,
        certificate=credential.certificate,
        key=credential.key,
        timeouts=TIMEOUTS,
    )
    return _try(connection)


def try_cluster(cluster: Cluster) -> ConnectionReport:
    """Try the stored connection of a cluster."""
    return _try(replace(connection_of(cluster), timeouts=TIMEOUTS))


def read_log(pod: Pod, lines: int) -> tuple[str, str]:
    """The last lines of the log of a pod's main container, and why they could not be read (one of the two is empty)."""
    path = f"{POD.path(pod.namespace, pod.name)}/log?container=main&tailLines={lines}"
    try:
        return gateway_for(pod.cluster).read_text(path, timeout=LOG_SECONDS), ""
    except MusterError as error:
        return "", error.message


def compare(cluster: Cluster, candidates: Sequence[Candidate]) -> list[Comparison]:
    """What taking these objects over would change, field by field and owner by owner, from the cluster as it is now."""
    if not candidates:
        return []
    gateway = KubeGateway(replace(connection_of(cluster), timeouts=TIMEOUTS))
    try:
        return list(comparisons(gateway, candidates))
    finally:
        gateway.close()


def comparisons(gateway: Gateway, candidates: Sequence[Candidate]) -> Iterator[Comparison]:
    """One after the other, at most `MOST_COMPARED`; a cluster that does not answer is not asked for the others."""
    silent = ""
    for candidate in candidates[:MOST_COMPARED]:
        if silent:
            yield Comparison(candidate, error=silent)
            continue
        try:
            yield _compare(gateway, candidate)
        except GatewayError as error:
            silent = error.message if error.retryable else ""
            yield Comparison(candidate, error=error.message)
    for candidate in candidates[MOST_COMPARED:]:
        told = gettext("Not looked at: %(n)d objects are compared at a time.") % {"n": MOST_COMPARED}
        yield Comparison(candidate, error=told)


def _compare(gateway: Gateway, candidate: Candidate) -> Comparison:
    found = candidate.found
    live = gateway.get(candidate.kind, found.name, found.namespace or None)
    if live is None or live["metadata"]["uid"] != found.uid:
        return Comparison(candidate, error=gettext("It is not in the cluster any more."))
    return Comparison(candidate, field_changes(candidate.wanted, live) if candidate.wanted else ())


def report(gateway: Gateway) -> ConnectionReport:
    """Ask for the version and for each permission, one by one."""
    version = ""
    try:
        version = gateway.server_version()
        missing = tuple(str(one) for one in needed_permissions() if not gateway.may(one.verb, one.group, one.resource))
    except GatewayError as error:
        return ConnectionReport(bool(version), version, error.message, error.reason)
    return ConnectionReport(True, version, missing=missing)


def _try(connection: Connection) -> ConnectionReport:
    try:
        gateway = KubeGateway(connection)
    except BadCertificate as error:
        return ConnectionReport(reachable=False, error=error.message, reason=error.reason)
    try:
        return report(gateway)
    finally:
        gateway.close()
