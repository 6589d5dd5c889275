"""`manage.py changepassword`, in place of Django's: a lost password is replaced, which ends what the old one opened."""

import argparse
from getpass import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.audit import Actor
from accounts.models import User, UserKind
from accounts.services.users import set_password_of_ones_own
from core.errors import InvalidInput


class Command(BaseCommand):
    help = "Give somebody another password. Their sessions and tokens end, and the audit log says so."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", help="of a person whose password Muster keeps")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email=options["email"].lower(), kind=UserKind.PERSON, is_local=True).first()
        if user is None:
            raise CommandError("There is no person of this address whose password is kept here.")
        new = getpass("New password: ")
        if getpass("The same again: ") != new:
            raise CommandError("These are two different passwords. Nothing is changed.")
        try:
            with transaction.atomic():
                set_password_of_ones_own(Actor(user, "command"), user, new)
        except InvalidInput as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"The password of {user.email} is changed; their sessions and tokens have ended.")
