"""How far prefill and decode would stand from each other, and what that costs at best: estimates. Pure.

Latency and bandwidth are those that the topology has per level, assumptions until somebody measured them; bytes per
token follow from a model's published shape (layers × 2 × KV heads × head size × bytes per value).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

PROMPT_TOKENS = 4000
BYTES_PER_VALUE = 2

# Layers, KV heads, head size. Read on 2026-11-30: qwen3-0.6b from reference dynamo.md §9 and its printed Qwen3Config;
# qwen3-8b from its model card (36 layers, 32 heads for Q and 8 for KV; hidden size 4096 / 32 heads); the Llamas from
# their listed specifications (8b: 32 layers, 4096 / 32 heads; 70b: 80 layers, 8192 / 64 heads; 8 for KV each).
# A model whose head size is not its hidden size divided by its heads has to be read from its config.json.
SHAPES: Mapping[str, tuple[int, int, int]] = {
    "qwen/qwen3-0.6b": (28, 8, 128),
    "qwen/qwen3-8b": (36, 8, 128),
    "meta-llama/llama-3.1-8b-instruct": (32, 8, 128),
    "meta-llama/llama-3.1-70b-instruct": (80, 8, 128),
    "meta-llama/llama-3.3-70b-instruct": (80, 8, 128),
}
REFERENCE_BYTES = 10**9


@dataclass(frozen=True, slots=True)
class Distance:
    """The farthest pair of a prefill and a decode pod. `level` is the narrowest level that they share, "" for none;
    figures are None where the topology has none. `milliseconds` is for moving `bytes` once."""

    level: str
    pairs: int
    farthest_pairs: int
    latency_microseconds: float | None
    bandwidth_gigabytes_per_second: float | None
    assumed: bool
    model: str
    tokens: int
    bytes: int
    milliseconds: float | None


def distance_of(
    prefill: Sequence[str],
    decode: Sequence[str],
    places: Mapping[str, Mapping[str, str]],
    levels: Sequence[str],
    links: Sequence[Mapping[str, Any]],
    model: str,
) -> Distance | None:
    """The distance between two roles that stand on these nodes (a node per pod). `places`: labels per node; `levels`
    broadest first, with `links` in their order. None where a role has no place or there is no topology."""
    if not (prefill and decode and levels):
        return None
    shared = [_shared(places.get(a, {}), places.get(b, {}), levels) for a, b in product(prefill, decode)]
    farthest = min(shared)
    link = links[farthest - 1] if farthest and farthest <= len(links) else {}
    latency, bandwidth = link.get("latencyMicroseconds"), link.get("bandwidthGigabytesPerSecond")
    per_token = bytes_per_token(model)
    size = per_token * PROMPT_TOKENS if per_token else REFERENCE_BYTES
    return Distance(
        level=levels[farthest - 1] if farthest else "",
        pairs=len(shared),
        farthest_pairs=shared.count(farthest),
        latency_microseconds=None if latency is None else float(latency),
        bandwidth_gigabytes_per_second=None if bandwidth is None else float(bandwidth),
        assumed=bool(link.get("assumed", True)),
        model=model if per_token else "",
        tokens=PROMPT_TOKENS if per_token else 0,
        bytes=size,
        milliseconds=_milliseconds(size, latency, bandwidth),
    )


def bytes_per_token(model: str) -> int:
    """Bytes of KV cache per token at two bytes per value; 0 for a model whose shape is not known."""
    shape = SHAPES.get(model.lower())
    return 2 * shape[0] * shape[1] * shape[2] * BYTES_PER_VALUE if shape else 0


def _milliseconds(size: int, latency: Any, bandwidth: Any) -> float | None:
    if latency is None or not bandwidth:
        return None
    return round(float(latency) / 1000 + size / (float(bandwidth) * 10**9) * 1000, 3)


def _shared(one: Mapping[str, str], other: Mapping[str, str], levels: Sequence[str]) -> int:
    """How many levels, from the broadest, the two nodes share."""
    for depth, level in enumerate(levels):
        if level not in one or one.get(level) != other.get(level):
            return depth
    return len(levels)
