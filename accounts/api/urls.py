"""The API's paths of accounts, relative to /api/."""

from django.urls import path

from accounts.api import views

urlpatterns = (
    path("v1/token", views.TokenV1View.as_view(), name="token"),
    path("v2/token", views.TokenV2View.as_view(), name="token-v2"),
)
