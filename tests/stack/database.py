"""The tables of a running installation, read beside it."""

import contextlib
import sqlite3
from collections.abc import Sequence
from typing import Any

import psycopg

from tests.stack.installation import Muster


def rows_of(muster: Muster, query: str) -> Sequence[tuple[Any, ...]]:
    """What the database answers to one SELECT."""
    if muster.database_url:
        with psycopg.connect(muster.database_url, autocommit=True) as postgres:
            return postgres.execute(query.encode()).fetchall()
    where = f"file:{muster.data_dir / 'muster.sqlite3'}?mode=ro"
    with contextlib.closing(sqlite3.connect(where, uri=True, timeout=30)) as sqlite:
        return sqlite.execute(query).fetchall()
