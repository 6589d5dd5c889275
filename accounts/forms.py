"""Input of the sign-in page."""

from django import forms
from django.utils.translation import gettext_lazy as _


class SignInForm(forms.Form):
    """E-mail address and password."""

    email = forms.CharField(
        label=_("E-mail"),
        max_length=254,
        widget=forms.TextInput(attrs={"type": "email", "autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
