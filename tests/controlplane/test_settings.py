"""Settings from the environment: what production demands, and what nonsense is refused with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane import settings

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {
    "MUSTER_PRODUCTION": "1",
    "SECRET_KEY": "k7Jq2vX9mPz4RtY8wBn3LcD6fGh5sAe1uVo0iKyTjQxZWbNMlE",
    "MUSTER_ALLOWED_HOSTS": "muster.example.org",
    "MUSTER_TRUSTED_ORIGINS": "https://muster.example.org",
}


def manage(tmp_path, *arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "DATABASE_", "SECRET_"))}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=clean | {"MUSTER_DATA_DIR": str(tmp_path)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_deployment_check_finds_nothing_in_production(tmp_path):
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)

    assert (done.returncode, done.stdout) == (0, "System check identified no issues (0 silenced).\n"), done.stderr


@pytest.mark.parametrize("key", ["", "short", "a" * 80, "django-insecure-" + PRODUCTION["SECRET_KEY"]])
def test_production_refuses_a_missing_short_monotonous_or_default_key(tmp_path, key):
    done = manage(tmp_path, "check", **PRODUCTION | {"SECRET_KEY": key})

    assert done.returncode == 1
    assert done.stderr == "Muster cannot start. SECRET_KEY: in production give at least 50 random characters.\n"


def test_production_refuses_a_weak_former_key_with_which_tokens_could_be_made(tmp_path):
    done = manage(tmp_path, "check", **PRODUCTION, SECRET_KEY_FALLBACKS=f"{PRODUCTION['SECRET_KEY']},short")

    assert done.returncode == 1
    assert "SECRET_KEY_FALLBACKS: in production each one" in done.stderr


def test_an_external_database_means_production(tmp_path):
    done = manage(tmp_path, "check", DATABASE_URL="postgresql://u:p@127.0.0.1/muster")

    assert "SECRET_KEY: in production" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MUSTER_DEBUG", "maybe", "MUSTER_DEBUG='maybe': give 1 or 0."),
        ("MUSTER_TRUSTED_PROXIES", "-1", "MUSTER_TRUSTED_PROXIES='-1': give a whole number, 0 or more."),
        ("MUSTER_LOG_LEVEL", "loud", "MUSTER_LOG_LEVEL='LOUD': give DEBUG, INFO, WARNING or ERROR."),
        ("DATABASE_URL", "mysql://x/y", "DATABASE_URL: scheme 'mysql' is not known, use postgresql://"),
        ("DATABASE_URL", "postgresql://u@h/m?sslmod=require", 'DATABASE_URL: invalid URI query parameter: "sslmod".'),
    ],
)
def test_nonsense_is_refused_with_a_sentence(tmp_path, name, value, said):
    key = {"SECRET_KEY": PRODUCTION["SECRET_KEY"]} if name == "DATABASE_URL" else {}
    done = manage(tmp_path, "check", **{name: value}, **key)

    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_all_that_the_address_of_the_database_says_reaches_it(monkeypatch):
    monkeypatch.setenv(
        "DATABASE_URL",
        "postgresql://mus%40ter:p%2Fw@db.example:6432/fleet?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem",
    )

    database = settings._database()

    connection = {name: database[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    assert connection == {
        "NAME": "fleet", "USER": "mus@ter", "PASSWORD": "p/w", "HOST": "db.example", "PORT": "6432",
    }  # fmt: skip
    assert database["OPTIONS"] == {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}
    monkeypatch.setenv("DATABASE_URL", "postgresql:///fleet?host=/run/postgresql")
    assert (settings._database()["HOST"], settings._database()["PORT"]) == ("/run/postgresql", "")


@pytest.mark.parametrize("address", ["u:sec%zzret@h/m", "u:sec%00ret@h/m", "u:secret@[::1/m", "u:secret@[::1]x/m"])
def test_an_address_of_the_database_that_cannot_be_read_is_not_quoted(monkeypatch, address):
    monkeypatch.setenv("DATABASE_URL", f"postgresql://{address}")

    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: ") as caught:
        settings._database()

    assert "sec" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_machine_of_ones_own_gets_a_key_that_only_its_owner_reads(tmp_path):
    assert manage(tmp_path, "diffsettings").returncode == 0

    path = tmp_path / "secret-key"
    key = path.read_text()
    assert len(key) == 96
    assert path.stat().st_mode & 0o077 == 0

    assert manage(tmp_path, "diffsettings").returncode == 0
    assert path.read_text() == key
    assert [p.name for p in tmp_path.iterdir()] == ["secret-key"]
