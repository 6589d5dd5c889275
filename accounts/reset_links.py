"""What proves that a link to choose a new password was made for somebody: good for a day and for one password.

Nothing of it is stored. It ends with whatever changes the person's password or ends their sessions, with a sign-in of
theirs, with another e-mail address, and while they are disabled.
"""

from typing import Any

from django.contrib.auth.tokens import PasswordResetTokenGenerator


class _ResetTokens(PasswordResetTokenGenerator):
    key_salt = "muster.reset-link"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.valid_from.isoformat()}{user.is_active}"


reset_tokens = _ResetTokens()
