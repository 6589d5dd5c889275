#!/usr/bin/env python
"""Django's command line for Muster."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def _data_dir(arguments: list[str]) -> str:
    """The value of `--data-dir`: the settings need it before any command reads its options."""
    for given, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if given == "--data-dir":
            return following
        if given.startswith("--data-dir="):
            return given.partition("=")[2]
    return ""


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    if data_dir := _data_dir(sys.argv):
        os.environ["MUSTER_DATA_DIR"] = data_dir
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Muster cannot start. {error}")
