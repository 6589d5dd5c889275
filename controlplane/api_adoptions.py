"""`/api/v1/clusters/{id}/adoptions`: what others made and can be taken over, what was, doing and undoing it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from clusters import live
from clusters.adopting import Candidate, Comparison
from clusters.models import Adoption, Cluster
from controlplane import adopting
from controlplane.api_shapes import AdoptionChoice, AdoptionResults, Adoptions
from core.api.bodies import check_keys
from core.api.ids import uuid_of
from core.api.views import ApiView, is_dry_run
from core.errors import InvalidInput

FIELDS = ("adopt", "release")


class AdoptionsView(ApiView):
    """Objects of others in one cluster."""

    gives: Mapping[str, Any] = {"get": Adoptions, "post": AdoptionResults}
    takes: Mapping[str, Any] = {"post": AdoptionChoice}

    def get(self, request: Request, cluster_id: str) -> Response:
        """`{candidates, adoptions}`: what can be taken over, or why it cannot, and what was."""
        cluster = _cluster(request, cluster_id)
        return Response(
            {
                "candidates": [_candidate(one) for one in adopting.candidates_of(cluster)],
                "adoptions": [_adoption(one) for one in adopting.adoptions_of(cluster)],
            }
        )

    def post(self, request: Request, cluster_id: str) -> Response:
        """Take over (`adopt`) or give back (`release`) objects by their uids: `{results}`. With `dryRun` says what
        `adopt` would change, by field and owner."""
        cluster, body = _cluster(request, cluster_id), self.body()
        check_keys(body, FIELDS)
        wanted, released = _uids(body, "adopt"), _taken(cluster, _uids(body, "release"))
        picked = adopting.chosen(cluster, wanted)
        unknown = set(wanted) - {one.pk for one in picked}
        if unknown:
            raise InvalidInput.of("adopt", f"{min(unknown)[:64]!r} is no object of others that can be taken over")
        if is_dry_run(request):
            return Response({"results": [_comparison(one) for one in live.compare(cluster, picked)]})
        return Response({"results": self.write(lambda: self._do(picked, released))})

    def _do(self, picked: Sequence[Candidate], released: Sequence[Adoption]) -> list[dict[str, Any]]:
        actor = actor_of(self.request)
        results = [
            {"uid": one.uid, "name": one.name, "accepted": one.row is not None, "message": one.error}
            for one in adopting.adopt(actor, picked)
        ]
        for adoption in released:
            adopting.release(actor, adoption)
            results.append({"uid": adoption.uid, "name": adoption.name, "accepted": True, "message": ""})
        return results


def _cluster(request: Request, cluster_id: str) -> Cluster:
    require(request.user, "cluster:read")
    cluster = Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id))
    require(request.user, "cluster:update", cluster.scope)
    return cluster


def _uids(body: dict[str, Any], name: str) -> list[str]:
    given = body.get(name, [])
    if not isinstance(given, list) or not all(isinstance(uid, str) and "\x00" not in uid for uid in given):
        raise InvalidInput.of(name, "It is not a list of uids", "a list of texts")
    return list(dict.fromkeys(given))


def _taken(cluster: Cluster, uids: Sequence[str]) -> list[Adoption]:
    """What was taken over, by uid. Raises `InvalidInput` for one that was not."""
    found = list(Adoption.objects.filter(cluster=cluster, uid__in=uids).order_by("pk"))
    missing = set(uids) - {adoption.uid for adoption in found}
    if missing:
        raise InvalidInput.of("release", f"{min(missing)[:64]!r} was not taken over")
    return found


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "uid": one.pk,
        "kind": one.kind.kind,
        "namespace": one.found.namespace,
        "name": one.found.name,
        "madeBy": one.found.made_by,
        "becomes": one.becomes,
        "blocked": one.blocked,
        "effects": list(one.effects),
    }


def _adoption(adoption: Any) -> dict[str, Any]:
    """Of a row of `adopting.adoptions_of`."""
    return {
        "uid": adoption.uid,
        "kind": adoption.kind,
        "namespace": adoption.namespace,
        "name": adoption.name,
        "madeBy": adoption.made_by,
        "owner": adoption.owner,
        "state": adoption.state,
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return {
        "uid": one.candidate.pk,
        "name": one.candidate.found.name,
        "message": one.error or one.candidate.blocked,
        "changes": [
            {"field": change.path, "now": change.now, "then": change.then, "owners": list(change.owners)}
            for change in one.changes
        ],
        "effects": list(one.candidate.effects),
    }
