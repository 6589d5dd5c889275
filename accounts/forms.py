"""Input of the sign-in page and of the pages of Administration; services decide what is allowed."""

from collections.abc import Sequence

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Role
from accounts.roles import PREDEFINED
from accounts.scopes import Target
from core.form_fields import LinesField


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


class NewPasswordForm(forms.Form):
    """A new password."""

    newPassword = forms.CharField(
        label=_("New password"),
        max_length=1000,
        strip=False,
        help_text=_("At least 12 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class PasswordForm(NewPasswordForm):
    """The old password and a new one."""

    currentPassword = forms.CharField(
        label=_("Current password"),
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    field_order = ("currentPassword", "newPassword")


class UserForm(forms.Form):
    """A new person."""

    email = forms.CharField(label=_("E-mail"), max_length=254, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    name = forms.CharField(label=_("Name"), max_length=200, required=False)


class NameForm(forms.Form):
    """The name of a new service account."""

    name = forms.CharField(
        label=_("Name"),
        max_length=64,
        help_text=_("Lower-case letters, digits, - and _; it begins with a letter."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class KeyForm(NameForm):
    """A new access key."""

    expiresAt = forms.DateTimeField(
        label=_("Ends"),
        required=False,
        help_text=_("Empty: never. In UTC."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )


class RuleForm(forms.Form):
    """A new access rule: who, role, scope."""

    subjectType = forms.ChoiceField(
        label=_("Kind"),
        choices=(("user", _("person")), ("service-account", _("service account")), ("group", _("group"))),
    )
    subjectId = forms.CharField(
        label=_("Who"),
        max_length=254,
        help_text=_("A person’s e-mail address, a service account’s name, or a group of the identity provider."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label=_("Role"))
    scope = forms.ChoiceField(label=_("Scope"), help_text=_("The role holds there and for everything below."))

    def __init__(self, *args: object, targets: Sequence[Target], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # as they come
        custom = Role.objects.filter(enabled=True).order_by("name").values_list("name", flat=True)
        self.fields["role"].choices = [  # type: ignore[attr-defined]  # a choice
            *((role.name, f"{role.label}: {role.description}") for role in PREDEFINED),
            *((name, name) for name in custom),
        ]
        self.fields["scope"].choices = [  # type: ignore[attr-defined]  # a choice
            (f"{target.scope_type}:{target.scope_id}", scope_label(target)) for target in targets
        ]


class RoleForm(forms.Form):
    """Name and description of a custom role; its rights are a matrix of check boxes beside."""

    name = forms.CharField(label=_("Name"), max_length=64)
    description = LinesField(label=_("Description"), max_length=500, required=False)
    enabled = forms.BooleanField(label=_("Enabled"), required=False, initial=True)


def scope_label(target: Target) -> str:
    """A scope in words: "project: assistant"."""
    if not target.scope_id:
        return target.name
    return f"{target.scope_type.label}: {target.name}"
