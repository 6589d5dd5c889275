"""Pages of accounts."""

from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = (
    path("login", views.sign_in, name="login"),
    path("logout", views.sign_out, name="logout"),
)
