"""Pages of accounts."""

from django.urls import path

from accounts.views import audit, keys, people, resetting, rights, roles, rules, signing_in

app_name = "accounts"
urlpatterns = (
    path("account/login", signing_in.sign_in, name="login"),
    path("account/logout", signing_in.sign_out, name="logout"),
    path("account/provider", signing_in.provider_start, name="provider-start"),
    path("account/provider/return", signing_in.provider_return, name="provider-return"),
    path("account/password", signing_in.own_password, name="own-password"),
    path("account/reset", resetting.reset, name="reset"),
    path("account/rights", rights.own_rights, name="own-rights"),
    path("access/rules/", rules.rule_list, name="rule-list"),
    path("access/rules/new", rules.rule_new, name="rule-new"),
    path("access/access-rules/<str:pk>/delete", rules.rule_delete, name="rule-delete"),
    path("access/users/", people.user_list, name="user-list"),
    path("access/users/new", people.user_new, name="user-new"),
    path("access/users/<str:pk>/", people.user_detail, name="user-detail"),
    path("access/users/<str:pk>/password", people.user_password, name="user-password"),
    path("access/users/<str:pk>/reset-link", people.user_reset_link, name="user-reset-link"),
    path("access/users/<str:pk>/logout", people.user_logout, name="user-logout"),
    path("access/users/<str:pk>/enable", people.user_enable, name="user-enable"),
    path("access/users/<str:pk>/disable", people.user_disable, name="user-disable"),
    path("access/users/<str:pk>/delete", people.user_delete, name="user-delete"),
    path("access/service-accounts/", keys.service_account_list, name="service-account-list"),
    path("access/service-accounts/new", keys.service_account_new, name="service-account-new"),
    path("access/service-accounts/<str:pk>/", keys.service_account_detail, name="service-account-detail"),
    path("access/service-accounts/<str:pk>/secret", keys.service_account_secret, name="service-account-secret"),
    path("access/service-accounts/<str:pk>/enabled", keys.service_account_enabled, name="service-account-enabled"),
    path("access/service-accounts/<str:pk>/delete", keys.service_account_delete, name="service-account-delete"),
    path("access/roles/", roles.role_list, name="role-list"),
    path("access/roles/new", roles.role_new, name="role-new"),
    path("access/roles/predefined/<str:number>/", roles.role_predefined, name="role-predefined"),
    path("access/roles/<str:pk>/", roles.role_edit, name="role-edit"),
    path("access/roles/<str:pk>/delete", roles.role_delete, name="role-delete"),
    path("access/access-keys/", keys.key_list, name="key-list"),
    path("access/access-keys/new", keys.key_new, name="key-new"),
    path("access/access-keys/<str:pk>/secret", keys.key_secret, name="key-secret"),
    path("access/access-keys/<str:pk>/delete", keys.key_delete, name="key-delete"),
    path("audit/", audit.audit_list, name="audit-list"),
)
