"""All settings, from the environment; a fresh checkout needs none. Helpers fail loudly on nonsense."""

import os
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from controlplane.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("MUSTER_DATA_DIR", BASE_DIR / "var"))


def _flag(name: str, *, default: bool) -> bool:
    value = os.environ.get(name, "").strip().lower()
    if value in ("", "0", "false", "no", "1", "true", "yes"):
        return default if value == "" else value in ("1", "true", "yes")
    raise ImproperlyConfigured(f"{name}={value!r}: give 1 or 0.")


def _is_weak(key: str) -> bool:
    """Short, of few different characters, or one that Django's project template made to be replaced."""
    return len(key) < 50 or len(set(key)) < 5 or key.startswith("django-insecure-")


def _secret_key() -> str:
    """SECRET_KEY, or on a machine of one's own a random one kept in the data directory (mode 0600)."""
    key = os.environ.get("SECRET_KEY", "")
    if PRODUCTION and _is_weak(key):
        raise ImproperlyConfigured("SECRET_KEY: in production give at least 50 random characters.")
    if key:
        return key
    path = DATA_DIR / "secret-key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            # Made beside and moved into place: whoever reads it reads all of it.
            fresh = path.with_name(f"secret-key.{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_text(os.urandom(48).hex())
            os.link(fresh, path)
            fresh.unlink()
        return path.read_text().strip()
    except FileExistsError:  # another process made it first
        fresh.unlink(missing_ok=True)
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"The data directory {DATA_DIR} cannot be written: {error.strerror}.") from error


def _database() -> dict[str, Any]:
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "muster.sqlite3",
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    scheme = url.partition("://")[0]
    if scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"DATABASE_URL: scheme {scheme!r} is not known, use postgresql://")
    try:
        given = conninfo_to_dict(url)
    except ProgrammingError as error:
        said = str(error).strip()
        # libpq quotes what it cannot read, which may be the password.
        raise ImproperlyConfigured(
            f"DATABASE_URL: {said if 'query parameter' in said else said.partition(':')[0]}."
        ) from None
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{name: str(given.pop(part, None) or "") for name, part in names.items()},
        "OPTIONS": given,  # sslmode and what else libpq knows
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit():
        raise ImproperlyConfigured(f"{name}={value!r}: give a whole number, 0 or more.")
    return int(value)


def _list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


DEBUG = _flag("MUSTER_DEBUG", default=False)
PRODUCTION = _flag("MUSTER_PRODUCTION", default=bool(os.environ.get("DATABASE_URL")) and not DEBUG)
SECRET_KEY = _secret_key()
# Keys that SECRET_KEY had before: what they signed and encrypted still holds, nothing new is made with them.
SECRET_KEY_FALLBACKS = _list("SECRET_KEY_FALLBACKS")
if PRODUCTION and any(map(_is_weak, SECRET_KEY_FALLBACKS)):
    raise ImproperlyConfigured("SECRET_KEY_FALLBACKS: in production each one is at least 50 random characters.")
ALLOWED_HOSTS = _list("MUSTER_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
TRUSTED_PROXIES = _number("MUSTER_TRUSTED_PROXIES", 0)
# How long entries of the audit log are kept.
AUDIT_DAYS = _number("MUSTER_AUDIT_DAYS", 90)
# Predictions that are held against what the scheduler did: how long they are kept (0: none are made), how long the
# scheduler may take, and how many cases of wrong ones a cluster keeps, of which size at most.
PREDICTION_DAYS = _number("MUSTER_PREDICTION_DAYS", 90)
PREDICTION_WAIT_SECONDS = _number("MUSTER_PREDICTION_WAIT_SECONDS", 600)
PREDICTION_CASES = _number("MUSTER_PREDICTION_CASES", 50)
PREDICTION_CASE_KIB = _number("MUSTER_PREDICTION_CASE_KIB", 1024)
# How often a cluster's lists are read whole, whatever its watches say: what heals an event that never came.
RELIST_SECONDS = _number("MUSTER_RELIST_SECONDS", 600)
# How long a worker may be silent before another one takes over what it was at.
LEASE_SECONDS = _number("MUSTER_LEASE_SECONDS", 120)
# Of one person or access key, in each web process.
API_REQUESTS_PER_MINUTE = _number("MUSTER_API_REQUESTS_PER_MINUTE", 6000)
# At once, of one person or access key in all web processes; 0: any number.
API_CONCURRENT_REQUESTS = _number("MUSTER_API_CONCURRENT_REQUESTS", 100)
# How long one statement of a web process may take on PostgreSQL; 0: any time.
STATEMENT_SECONDS = _number("MUSTER_STATEMENT_SECONDS", 30)
# Of one account, in each web process; of one address five times as many.
TOKENS_PER_MINUTE = _number("MUSTER_TOKENS_PER_MINUTE", 120)

INSTALLED_APPS = (
    "accounts",  # before Django's, whose command changepassword it replaces
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "core",
    "clusters",
    "topology",
    "organizations",
    "workloads",
    "metrics",
    "controlplane",
)

MIDDLEWARE = (
    "core.middleware.RequestIdMiddleware",
    "core.middleware.ReadableQueryMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "core.middleware.PrivateAnswersMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.sessions.IdleSessionMiddleware",
    "accounts.middleware.AccountLanguageMiddleware",
    "accounts.middleware.SignInRequiredMiddleware",
    "accounts.middleware.TemporaryPasswordMiddleware",
    "accounts.middleware.RefusalsMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.middleware.ErrorPagesMiddleware",
)

ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
# How long a link is good by which somebody chooses a new password.
PASSWORD_RESET_TIMEOUT = 24 * 3600
PASSWORD_HASHERS = ("django.contrib.auth.hashers.Argon2PasswordHasher",)
AUTH_PASSWORD_VALIDATORS = (
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
)

TEMPLATES = (
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": (BASE_DIR / "templates",),
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": (
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "controlplane.context.shell",
            ),
        },
    },
)

DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = (("en", _("English")), ("zh-hans", _("Simplified Chinese")))
LOCALE_PATHS = (BASE_DIR / "locale",)
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
# Where collectstatic puts the files for a web server in front; without it the web process serves them itself.
STATIC_ROOT = os.environ.get("MUSTER_STATIC_ROOT") or None
STATICFILES_DIRS = (BASE_DIR / "static",)

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = _list("MUSTER_TRUSTED_ORIGINS")
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
APPEND_SLASH = False

# With it monitoring reads the names of parts in /readyz and /metrics.
# Where `up` keeps the simulated cluster that it runs beside the web process; empty in any other installation.
SIMULATOR_DIR = os.environ.get("MUSTER_SIMULATOR_DIR", "")
MONITORING_TOKEN = os.environ.get("MUSTER_MONITORING_TOKEN", "")
# Sign-in through an OpenID Connect provider; without an issuer there is none.
OIDC_ISSUER = os.environ.get("MUSTER_OIDC_ISSUER", "").rstrip("/")
OIDC_CLIENT_ID = os.environ.get("MUSTER_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = os.environ.get("MUSTER_OIDC_CLIENT_SECRET", "")
OIDC_SCOPES = os.environ.get("MUSTER_OIDC_SCOPES", "openid profile email")
OIDC_GROUPS_CLAIM = os.environ.get("MUSTER_OIDC_GROUPS_CLAIM", "groups")
if OIDC_ISSUER and PRODUCTION and not OIDC_ISSUER.startswith("https://"):
    raise ImproperlyConfigured("MUSTER_OIDC_ISSUER: in production give an address that begins with https://")
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("MUSTER_OIDC_CLIENT_ID: give the client id that Muster has at the provider.")

LOG_LEVEL = os.environ.get("MUSTER_LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR"):
    raise ImproperlyConfigured(f"MUSTER_LOG_LEVEL={LOG_LEVEL!r}: give DEBUG, INFO, WARNING or ERROR.")
LOGGING = logging_config(LOG_LEVEL)

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_URL = REDIS_URL

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": (
        "accounts.authentication.TokenAuthentication",
        "accounts.authentication.PageSessionAuthentication",
    ),
    "DEFAULT_PERMISSION_CLASSES": ("rest_framework.permissions.IsAuthenticated",),
    "DEFAULT_PARSER_CLASSES": ("core.api.parsers.SafeJSONParser",),
    "DEFAULT_RENDERER_CLASSES": ("rest_framework.renderers.JSONRenderer",),
    # The form of an answer is asked for by Accept alone; a parameter that names none would answer 404.
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "DEFAULT_SCHEMA_CLASS": "core.api.schema.MusterSchema",
    "EXCEPTION_HANDLER": "core.api.errors.exception_handler",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Muster",
    "DESCRIPTION": "Run:ai's REST conventions over KAI Scheduler, Grove and NVIDIA Dynamo.",
    "VERSION": "1.0.0",
    "SCHEMA_PATH_PREFIX": r"/api/v[12]/(org-unit/)?",
    "SERVE_INCLUDE_SCHEMA": False,
    "SORT_OPERATIONS": True,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "DISABLE_ERRORS_AND_WARNINGS": False,
    "OAS_VERSION": "3.1.1",
    "POSTPROCESSING_HOOKS": (
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.api.documenting.add_shapes",
        "core.api.limits.add_limits",
        "core.api.linking.add_links",
    ),
}
