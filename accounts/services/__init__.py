"""What people do with accounts: sign in, give and take roles, make keys. Each writes its audit row."""

from accounts.services.keys import (
    create_access_key,
    create_service_account,
    delete_service_account,
    renew_access_key_secret,
    renew_service_account_secret,
    revoke_access_key,
    set_service_account_enabled,
)
from accounts.services.resetting import make_reset_link, use_reset_link, user_of_link
from accounts.services.roles import create_role, delete_role, update_role
from accounts.services.rules import Group, grant, known_roles, revoke, what_needs
from accounts.services.signing_in import (
    Identity,
    create_first_administrator,
    note_sign_in,
    note_sign_out,
    user_of_identity,
    verify_password,
    verify_secret,
)
from accounts.services.users import (
    change_own_password,
    create_user,
    delete_user,
    force_logout,
    is_own_password,
    reset_password,
    set_enabled,
    what_keeps,
)

__all__ = (
    "Group", "Identity", "change_own_password", "create_access_key", "create_first_administrator", "create_role",
    "create_service_account", "create_user", "delete_role", "delete_service_account", "delete_user", "force_logout",
    "grant", "is_own_password", "known_roles", "make_reset_link", "note_sign_in", "note_sign_out",
    "renew_access_key_secret", "renew_service_account_secret", "reset_password", "revoke", "revoke_access_key",
    "set_enabled", "set_service_account_enabled", "update_role", "use_reset_link", "user_of_identity", "user_of_link",
    "verify_password", "verify_secret", "what_keeps", "what_needs",
)  # fmt: skip
