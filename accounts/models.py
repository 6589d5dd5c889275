"""Users, what they may do where, their access keys, and the record of every change."""

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


class User(AbstractBaseUser, TimestampedModel):
    """A person who signs in by e-mail and password. What they may do is in their access rules, nowhere else."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("e-mail"), unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    is_active = models.BooleanField(default=True)
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


class AccessRule(models.Model):
    """Subject × role × scope. `scope_id` is the id of the cluster, department or project, empty for the tenant.

    `cluster_id` repeats the cluster in which the scope lies, so that shared resources of that cluster (nodes,
    node pools, topologies) can be found readable without a foreign key upwards.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_rules")
    role = models.CharField(max_length=64)
    scope_type = models.CharField(max_length=16, choices=ScopeType.choices)
    scope_id = models.CharField(max_length=64, blank=True)
    cluster_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.CharField(max_length=254, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "role", "scope_type", "scope_id"), name="access_rule_once"),
            models.CheckConstraint(
                condition=models.Q(scope_type="tenant", scope_id="")
                | ~models.Q(scope_type="tenant") & ~models.Q(scope_id=""),
                name="access_rule_scope_id_unless_tenant",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user_id}: {self.role} on {self.scope_type} {self.scope_id}".rstrip()


class AccessKey(models.Model):
    """A client id and secret with which a pipeline asks for tokens in the name of a user."""

    client_id = models.CharField(max_length=64, unique=True)
    secret_hash = models.CharField(max_length=256)
    name = models.CharField(max_length=100)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_keys")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.client_id


class AuditEntry(models.Model):
    """One change, written in the transaction of the change. Rows are never updated."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    subject = models.CharField(max_length=254)
    source = models.CharField(max_length=16)
    address = models.CharField(max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=32)
    object_type = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=253)
    cluster_id = models.UUIDField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        ordering = ("-at", "-id")
        indexes = (models.Index(fields=("object_type", "object_id", "-at"), name="audit_by_object"),)

    def __str__(self) -> str:
        return f"{self.subject} {self.action} {self.object_type} {self.object_name}"


class SignInFailures(models.Model):
    """Failed sign-ins of one account or from one address within the current window; see `accounts.throttling`."""

    key = models.CharField(max_length=64, primary_key=True)  # SHA-256 of what is counted
    count = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.key[:12]}: {self.count}"
