"""The API's paths of accounts, relative to /api/."""

from django.urls import path

from accounts.api import (
    audit_views,
    authorization_views,
    idp_views,
    key_views,
    rule_views,
    security_views,
    user_views,
    views,
)

urlpatterns = (
    path("v1/token", views.TokenV1View.as_view(), name="token"),
    path("v2/token", views.TokenV2View.as_view(), name="token-v2"),
    path("v1/users", user_views.UserListView.as_view(), name="users"),
    path("v1/users/count", user_views.UserCountView.as_view(), name="users-count"),
    path("v1/users/<str:user_id>", user_views.UserView.as_view(), name="user"),
    path("v1/users/<str:user_id>/logout", user_views.UserLogoutView.as_view(), name="user-logout"),
    path("v1/users/<str:user_id>/password", user_views.UserPasswordView.as_view(), name="user-password"),
    path("v1/me/password", user_views.OwnPasswordView.as_view(), name="own-password"),
    *(
        entry
        for prefix, secret in (("service-accounts", "clientSecret"), ("apps", "secret"))
        for entry in (
            path(f"v1/{prefix}", key_views.ServiceAccountListView.as_view(secret_name=secret), name=prefix),
            path(f"v1/{prefix}/<str:account_id>", key_views.ServiceAccountView.as_view(), name=f"{prefix}-one"),
            path(
                f"v1/{prefix}/<str:account_id>/secret",
                key_views.ServiceAccountSecretView.as_view(secret_name=secret),
                name=f"{prefix}-secret",
            ),
        )
    ),
    *(
        entry
        for prefix, secret, wrapped in (("access-keys", "clientSecret", True), ("user-applications", "secret", False))
        for entry in (
            path(
                f"v1/{prefix}",
                key_views.AccessKeyListView.as_view(secret_name=secret, wrapped=wrapped),
                name=prefix,
            ),
            path(f"v1/{prefix}/<str:key_id>", key_views.AccessKeyView.as_view(), name=f"{prefix}-one"),
            path(f"v1/{prefix}/<str:key_id>/secret", key_views.AccessKeySecretView.as_view(), name=f"{prefix}-secret"),
            path(
                f"v1/administration/{prefix}",
                key_views.AllAccessKeysView.as_view(wrapped=wrapped),
                name=f"all-{prefix}",
            ),
            path(
                f"v1/administration/{prefix}/<str:key_id>", key_views.AnyAccessKeyView.as_view(), name=f"any-{prefix}"
            ),
        )
    ),
    path("v1/authorization/roles", authorization_views.RoleListView.as_view(), name="roles"),
    path("v1/authorization/roles/<str:role_id>", authorization_views.RoleView.as_view(), name="role"),
    path("v2/authorization/roles", authorization_views.RoleListV2View.as_view(), name="roles-v2"),
    path("v2/authorization/roles/<str:role_id>", authorization_views.RoleV2View.as_view(), name="role-v2"),
    path("v1/authorization/permissions", authorization_views.PermissionsView.as_view(), name="permissions"),
    path(
        "v1/authorization/permitted-scopes", authorization_views.PermittedScopesView.as_view(), name="permitted-scopes"
    ),
    path("v1/authorization/access-rules", rule_views.AccessRuleListView.as_view(), name="access-rules"),
    path("v1/authorization/access-rules/count", rule_views.AccessRuleCountView.as_view(), name="access-rules-count"),
    path("v1/authorization/access-rules/batch", rule_views.AccessRuleBatchView.as_view(), name="access-rules-batch"),
    path(
        "v1/authorization/access-rules/batch-create",
        rule_views.AccessRuleBatchCreateView.as_view(),
        name="access-rules-batch-create",
    ),
    path("v1/authorization/access-rules/<str:rule_id>", rule_views.AccessRuleView.as_view(), name="access-rule"),
    path("v1/authorization/me/access-rules", rule_views.OwnAccessRulesView.as_view(), name="own-access-rules"),
    path(
        "v1/authorization/me/access-rules/count",
        rule_views.OwnAccessRulesCountView.as_view(),
        name="own-access-rules-count",
    ),
    path("v1/idps", idp_views.IdpListView.as_view(), name="idps"),
    path("v1/idps/<str:idp>", idp_views.IdpView.as_view(), name="idp"),
    path("v1/idps/<str:idp>/mappers", idp_views.IdpMappersView.as_view(), name="idp-mappers"),
    path("v1/security/settings", security_views.SecuritySettingsView.as_view(), name="security-settings"),
    path("v1/security/settings/<str:key>", security_views.SecuritySettingView.as_view(), name="security-setting"),
    path("v1/audit/log", audit_views.AuditLogView.as_view(), name="audit-log"),
    path("v1/audit/log/file", audit_views.AuditLogFileView.as_view(), name="audit-log-file"),
)
