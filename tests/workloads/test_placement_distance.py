"""Distance between roles and what moving a KV cache over it takes, by hand calculation."""

from workloads.placement_distance import bytes_per_token, distance_of
from workloads.placement_model import model_of

LEVELS = ("zone", "rack")
LINKS = (
    {"latencyMicroseconds": 500, "bandwidthGigabytesPerSecond": 40, "assumed": True},
    {"latencyMicroseconds": 200, "bandwidthGigabytesPerSecond": 100, "assumed": False},
)
PLACES = {
    "a": {"zone": "z1", "rack": "r1"},
    "b": {"zone": "z1", "rack": "r1"},
    "c": {"zone": "z1", "rack": "r2"},
    "d": {"zone": "z2", "rack": "r1"},
    "e": {},
}


def test_the_farthest_pair_counts_and_how_many_are_that_far():
    found = distance_of(["a"], ["b", "c", "c"], PLACES, LEVELS, LINKS, "")

    assert found is not None
    assert (found.level, found.pairs, found.farthest_pairs) == ("zone", 3, 2)
    # Without a model: 1 GB at 40 GB/s are 25 ms, and 0.5 ms.
    assert (found.bytes, found.tokens, found.milliseconds, found.assumed) == (10**9, 0, 25.5, True)


def test_pods_of_one_rack_are_as_near_as_the_rack():
    found = distance_of(["a"], ["b"], PLACES, LEVELS, LINKS, "meta-llama/Llama-3.1-8B-Instruct")

    assert found is not None
    # 32 layers × 2 × 8 heads × 128 × 2 bytes = 131,072 bytes a token; 4,000 tokens at 100 GB/s, and 0.2 ms.
    assert (found.level, found.bytes, found.milliseconds) == ("rack", 524_288_000, 5.443)
    assert not found.assumed


def test_where_no_level_is_shared_nothing_is_made_up():
    for far in ("d", "e"):
        found = distance_of(["a"], [far], PLACES, LEVELS, LINKS, "")
        assert found is not None
        assert (found.level, found.latency_microseconds, found.milliseconds) == ("", None, None)


def test_one_role_alone_has_no_distance():
    assert distance_of(["a"], [], PLACES, LEVELS, LINKS, "") is None
    assert distance_of(["a"], ["b"], PLACES, (), (), "") is None


def test_a_model_is_read_from_the_engines_arguments():
    spec = {"components": [{"podTemplate": {"spec": {"containers": [{"args": ["-m x --model=meta/M --other 1"]}]}}}]}

    assert model_of({"spec": spec}) == "meta/M"
    assert model_of({"spec": {"services": {"A": {"args": ["--model", "Qwen/Qwen3-0.6B"]}}}}) == "Qwen/Qwen3-0.6B"
    assert model_of({}) == ""
    assert bytes_per_token("somebody/else") == 0
