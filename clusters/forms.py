"""Parses what people enter about clusters; services decide."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.addresses import check_server
from clusters.credentials import Credential
from clusters.kubeconfig import MAX_BYTES, ClusterAccess, check_pem, check_token, read_kubeconfig
from clusters.services import check_name
from core.errors import InvalidInput

PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}


class AccessForm(forms.Form):
    """How to reach a cluster: a kubeconfig, or address, CA and token. `access` is the result."""

    kubeconfig = forms.CharField(
        label=_("Kubeconfig"),
        required=False,
        max_length=MAX_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, **PLAIN}),
        help_text=_("Its current context is used. What runs a program, reads a file or turns TLS off is refused."),
    )
    server = forms.CharField(
        label=_("API server"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "https://10.0.0.1:6443", **PLAIN}),
        help_text=_("Only without a kubeconfig. It must be https."),
    )
    token = forms.CharField(
        label=_("Token"),
        required=False,
        max_length=16384,
        widget=forms.PasswordInput(attrs=PLAIN),
        help_text=_("Of the service account below. It is stored encrypted and never shown again."),
    )
    certificate_authority = forms.CharField(
        label=_("CA certificate"),
        required=False,
        max_length=65536,
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": "-----BEGIN CERTIFICATE-----", **PLAIN}),
        help_text=_("PEM. Leave it empty if the system’s certificate authorities know the server."),
    )

    access: ClusterAccess | None = None

    def clean(self) -> dict[str, Any]:
        """Read the kubeconfig or the fields; faults stand beside the field that they concern."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            self.access = _access(cleaned)
        except InvalidInput as error:
            for fault in error.faults:
                name = fault.field.partition(".")[0]
                self.add_error(name if name in self.fields else None, fault.sentence)
        return cleaned


class ClusterForm(AccessForm):
    """A cluster to register."""

    name = forms.CharField(
        label=_("Name"),
        max_length=63,
        widget=forms.TextInput(attrs=PLAIN),
        help_text=_("1 to 63 lower-case letters, digits and “-”."),
    )
    field_order = ("name", "kubeconfig", "server", "token", "certificate_authority")

    def clean_name(self) -> str:
        """The name, checked."""
        try:
            return check_name(self.cleaned_data["name"])
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.faults[0].message}.") from error


def _access(cleaned: dict[str, Any]) -> ClusterAccess:
    if cleaned.get("kubeconfig", "").strip():
        if cleaned.get("server") or cleaned.get("token"):
            raise InvalidInput.of("kubeconfig", gettext("give a kubeconfig or an address with a token, not both"))
        return read_kubeconfig(cleaned["kubeconfig"])
    if not cleaned.get("server"):
        message = gettext("give a kubeconfig, or the address of the API server and a token")
        raise InvalidInput.of("kubeconfig", message)
    authority = cleaned.get("certificate_authority", "")
    return ClusterAccess(
        server=check_server(cleaned["server"]),
        certificate_authority=check_pem(authority, "CERTIFICATE", field="certificate_authority") if authority else "",
        credential=Credential(token=check_token(cleaned.get("token", "").strip(), field="token")),
    )
