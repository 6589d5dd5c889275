"""`/api/v1/idps`: the identity provider that the installation is started with (MUSTER_OIDC_…). It is read only: who
signs in how is a matter of the process's environment, not of a request."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.shapes import IdpMappers, IdpShape, OidcData
from accounts.permissions import require
from accounts.security import PROVIDER_ALIAS as ALIAS
from core.api.views import ApiView
from core.errors import NotFound

RIGHT = "security-settings:read"


def providers(request: Request) -> list[IdpShape]:
    """Schema Idp of the one provider, or none. Its secret is not shown."""
    require(request.user, RIGHT)
    if not settings.OIDC_ISSUER:
        return []
    data = OidcData(
        client_id=settings.OIDC_CLIENT_ID,
        client_secret="",
        scopes=settings.OIDC_SCOPES.split(),
        discover_document_url=f"{settings.OIDC_ISSUER}/.well-known/openid-configuration",
    )
    back = request.build_absolute_uri(reverse("accounts:provider-return"))
    return [IdpShape(alias=ALIAS, type="oidc", redirect_uri=str(back), oidc_data=data, mappers=mappers())]


def mappers() -> IdpMappers:
    """Which claims are read."""
    return IdpMappers(alias=ALIAS, email="email", groups=settings.OIDC_GROUPS_CLAIM)


def find_provider(request: Request, alias: str) -> IdpShape:
    """The provider of this alias. Raises `NotFound`."""
    for found in providers(request):
        if found.alias == alias:
            return found
    raise NotFound


class IdpListView(ApiView):
    """Identity providers."""

    gives: Mapping[str, Any] = {"get": list[IdpShape]}

    def get(self, request: Request) -> Response:
        """The one that is configured, as a bare list; empty where people sign in with passwords only."""
        return Response(providers(request))


class IdpView(ApiView):
    """One identity provider."""

    gives: Mapping[str, Any] = {"get": IdpShape}

    def get(self, request: Request, idp: str) -> Response:
        """The provider, without its secret."""
        return Response(find_provider(request, idp))


class IdpMappersView(ApiView):
    """What is taken from a provider."""

    gives: Mapping[str, Any] = {"get": IdpMappers}

    def get(self, request: Request, idp: str) -> Response:
        """Claims by what they become."""
        find_provider(request, idp)
        return Response(mappers())
