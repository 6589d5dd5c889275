"""Where a gateway comes from: one per cluster and process, made anew when the cluster's connection changes."""

from threading import Lock

from clusters.credentials import decrypt
from clusters.kube.client import Connection, KubeGateway
from clusters.kube.gateway import Gateway
from clusters.models import Cluster

_gateways: dict[object, tuple[tuple[object, ...], KubeGateway]] = {}
_lock = Lock()


def gateway_for(cluster: Cluster) -> Gateway:
    """The gateway of this cluster, kept per process until its spec changes. Makes no call itself."""
    return open_gateway(cluster)


def open_gateway(cluster: Cluster) -> KubeGateway:
    """The kept gateway of the cluster's current generation. Tests replace this one function."""
    with _lock:
        how = (cluster.generation, cluster.server, cluster.certificate_authority, bytes(cluster.credential))
        known, gateway = _gateways.get(cluster.pk, ((), None))
        if gateway is None or known != how:
            if gateway is not None:
                gateway.close()
            gateway = KubeGateway(connection_of(cluster))
            _gateways[cluster.pk] = (how, gateway)
        return gateway


def connection_of(cluster: Cluster) -> Connection:
    """What is needed to talk to the cluster, credential decrypted. Never logged, never stored."""
    credential = decrypt(cluster.credential)
    return Connection(
        name=cluster.name,
        server=cluster.server,
        certificate_authority=cluster.certificate_authority,
        token=credential.token,
        certificate=credential.certificate,
        key=credential.key,
    )
