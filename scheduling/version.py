"""Which engine it was: a digest of its own sources, so that two answers can be told apart by who gave them."""

from functools import cache
from hashlib import sha256
from pathlib import Path


@cache
def engine_version() -> str:
    """Twelve hex digits, the same wherever the sources of this package are the same."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
