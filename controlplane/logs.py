"""One line per event in logfmt, to stderr; values are escaped, so that no text from outside can forge a line."""

import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog


class _Unfailing:
    """stderr that loses what cannot be written: a log on a full disk ends nobody's work."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


# One for all loggers: structlog keeps a lock for every stream that it was ever given.
_STDERR = cast(TextIO, _Unfailing())


def logging_config(level: str) -> dict[str, Any]:
    """Django's LOGGING: libraries' records go the same way as ours; structlog is set up beside it."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=("timestamp", "level", "event"), bool_as_flag=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(_STDERR),
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "logfmt": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": (
                    structlog.contextvars.merge_contextvars,
                    structlog.stdlib.add_log_level,
                    structlog.stdlib.add_logger_name,
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                ),
                "processors": (
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    structlog.processors.LogfmtRenderer(
                        key_order=("timestamp", "level", "logger", "event"), bool_as_flag=False
                    ),
                ),
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "logfmt"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {"django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False}},
    }
