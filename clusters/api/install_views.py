"""What to apply in a cluster so that Muster may work in it: its account with its rights, and how its token is read."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters import rbac
from clusters.api.shapes import InstallInfo
from clusters.models import Cluster
from core.api.ids import uuid_of
from core.api.queries import unused_parameter
from core.api.views import ApiView


class InstallInfoView(ApiView):
    """How a cluster is connected."""

    parameters = (
        unused_parameter("version", "Muster has no agent in a cluster whose version could be chosen"),
        unused_parameter("remoteClusterUrl", "nothing in a cluster calls Muster"),
    )
    gives: Mapping[str, Any] = {"get": InstallInfo}

    def get(self, request: Request, cluster_id: str) -> Response:
        """`installationStr` are the commands; the last one prints the token. Chart, repository and secret are empty."""
        _check_sight(request, cluster_id)
        commands = rbac.install_commands()
        return Response(InstallInfo(installation_str=commands, repository_name="", chart_repo_url="", client_secret=""))


class InstallFileView(ApiView):
    """The manifest that connects a cluster."""

    parameters = (
        unused_parameter("cloud", "the manifest is the same on every cloud"),
        unused_parameter("clusterip", "nothing in a cluster calls Muster"),
        unused_parameter("format", "the manifest is YAML"),
    )
    gives: Mapping[str, Any] = {"get": str}

    def get(self, request: Request, cluster_id: str) -> Response:
        """The YAML as one JSON string: `jq -r . | kubectl apply -f -`."""
        _check_sight(request, cluster_id)
        return Response(rbac.rbac_manifest())


def _check_sight(request: Request, cluster_id: str) -> None:
    """Raises `NotPermitted`, `NotFound`. What is shown is the same for every cluster."""
    require(request.user, "cluster:read")
    Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id))
