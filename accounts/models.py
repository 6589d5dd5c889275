"""People and service accounts, what they may do where, their access keys, and the record of every change."""

import uuid

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from core.models import TimestampedModel


class UserManager(BaseUserManager["User"]):
    """Makes users by e-mail address."""

    def create_user(self, email: str, password: str | None = None, *, name: str = "") -> "User":
        """A local user; without a password they can't sign in until one is set."""
        user = self.model(email=self.normalize_email(email).lower(), name=name)
        user.set_password(password)
        user.save(using=self._db)
        return user


class UserKind(models.TextChoices):
    """Run:ai's subject types of those that can ask for something themselves."""

    PERSON = "user", _("person")
    SERVICE_ACCOUNT = "service-account", _("service account")


class User(AbstractBaseUser, TimestampedModel):
    """A person, or a service account of a pipeline. What they may do is in their access rules, nowhere else.

    People sign in by e-mail and password (`is_local`) or through the identity provider, which then says who they are
    (`identity`: issuer and subject) and their `groups`. The `email` of a service account is no address but its name.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("e-mail"), unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    kind = models.CharField(max_length=16, choices=UserKind.choices, default=UserKind.PERSON)
    is_active = models.BooleanField(default=True)
    is_local = models.BooleanField(default=True)
    identity = models.CharField(max_length=512, unique=True, null=True, blank=True)
    groups = models.JSONField(default=list, blank=True)
    created_by = models.CharField(max_length=254, blank=True)
    # The password is a temporary one that was shown once: the first thing to do is to choose another.
    must_change_password = models.BooleanField(default=False)
    # Until when that one opens anything; null for a password of one's own.
    temporary_until = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=16, blank=True)
    # Tokens and sessions issued before this moment are refused.
    valid_from = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    objects = UserManager()

    def __str__(self) -> str:
        return self.email

    def get_session_auth_hash(self) -> str:
        """Ends every session when the password or `valid_from` changes."""
        subject = f"{self.password}{self.valid_from.isoformat()}"
        return salted_hmac("muster.session", subject, algorithm="sha256").hexdigest()


class ScopeType(models.TextChoices):
    """Where an access rule holds; it holds for everything below too."""

    TENANT = "tenant", _("whole installation")
    CLUSTER = "cluster", _("cluster")
    DEPARTMENT = "department", _("department")
    PROJECT = "project", _("project")


class Role(TimestampedModel):
    """A role that an administrator made: a set of rights (`resource:action`). Predefined ones are in permissions."""

    name = models.CharField(_("name"), max_length=64, unique=True)
    description = models.CharField(_("description"), max_length=500, blank=True)
    rights = models.JSONField(default=list)
    enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=254, blank=True)

    def __str__(self) -> str:
        return self.name


class AccessRule(models.Model):
    """Subject × role × scope. `scope_id` is the id of the cluster, department or project, empty for the tenant.

    The subject is a user (or service account), or everybody of a `group` of the identity provider. `role` is the
    role's name; `custom_role` is set where it is not one of the predefined ones. `cluster_id` repeats the cluster in
    which the scope lies, so that shared resources of that cluster (nodes, node pools, topologies) can be found
    readable without a foreign key upwards.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="access_rules")
    group = models.CharField(max_length=200, blank=True)
    role = models.CharField(max_length=64)
    custom_role = models.ForeignKey(Role, null=True, on_delete=models.PROTECT, related_name="access_rules")
    scope_type = models.CharField(max_length=16, choices=ScopeType.choices)
    scope_id = models.CharField(max_length=64, blank=True)
    cluster_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.CharField(max_length=254, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "role", "scope_type", "scope_id"), name="access_rule_once"),
            models.UniqueConstraint(
                fields=("group", "role", "scope_type", "scope_id"),
                condition=models.Q(user=None),
                name="access_rule_once_per_group",
            ),
            models.CheckConstraint(
                condition=models.Q(user=None) & ~models.Q(group="") | models.Q(user__isnull=False, group=""),
                name="access_rule_of_user_or_group",
            ),
            models.CheckConstraint(
                condition=models.Q(scope_type="tenant", scope_id="")
                | ~models.Q(scope_type="tenant") & ~models.Q(scope_id=""),
                name="access_rule_scope_id_unless_tenant",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user or self.group}: {self.role} on {self.scope_type} {self.scope_id}".rstrip()


class AccessKey(models.Model):
    """A client id and secret with which a pipeline asks for tokens in the name of a person or a service account."""

    client_id = models.CharField(max_length=64, unique=True)
    secret_hash = models.CharField(max_length=256)
    # The first characters of the secret, by which its owner knows it again.
    prefix = models.CharField(max_length=16, blank=True)
    name = models.CharField(max_length=100)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_keys")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    # When the secret in force was made: tokens asked for with an older one are refused.
    secret_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.client_id


class Outcome(models.TextChoices):
    """How an audited act ended, in Run:ai's words."""

    SUCCEEDED = "Succeeded", _("succeeded")
    FAILED = "Failed", _("refused")


class AuditEntry(models.Model):
    """One act, written in the transaction of the change. Never updated, but once to take its place in the chain.

    `sequence` is given when it is sealed, `digest` when it is written and anew when it is sealed
    (accounts.audit_chain). Where the act's object lies is in
    `cluster_id`, `department_id` and `project_id`: who may read the history of a place, reads these.
    """

    at = models.DateTimeField(default=timezone.now, db_index=True)
    subject = models.CharField(max_length=254)
    subject_type = models.CharField(max_length=16, default=UserKind.PERSON)
    source = models.CharField(max_length=16)
    address = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    method = models.CharField(max_length=8, blank=True)
    path = models.CharField(max_length=300, blank=True)
    action = models.CharField(max_length=32)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, default=Outcome.SUCCEEDED)
    reason = models.CharField(max_length=200, blank=True)
    object_type = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=253)
    cluster_id = models.UUIDField(null=True)
    department_id = models.BigIntegerField(null=True)
    project_id = models.BigIntegerField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    sequence = models.BigIntegerField(null=True, unique=True)
    digest = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-at", "-id")
        indexes = (models.Index(fields=("object_type", "object_id", "-at"), name="audit_by_object"),)

    def __str__(self) -> str:
        return f"{self.subject} {self.action} {self.object_type} {self.object_name}"


class AuditChain(models.Model):
    """The one row that knows both ends of the chain: the newest link, and the link before the oldest one kept, with the
    seal of who pruned."""

    sequence = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True)
    pruned_sequence = models.BigIntegerField(default=0)
    pruned_digest = models.CharField(max_length=64, blank=True)
    pruned_seal = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.sequence}: {self.digest[:12]}"


class SignInFailures(models.Model):
    """Failed sign-ins of one account or from one address within the current window; see `accounts.throttling`."""

    key = models.CharField(max_length=64, primary_key=True)  # SHA-256 of what is counted
    count = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.key[:12]}: {self.count}"
