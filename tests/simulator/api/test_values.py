"""Quantities, JSONPath, protobuf, durations in columns, URLs: small readers with published formats."""

from typing import Any

import pytest

from simulator.api.errors import ApiError
from simulator.api.go_base64 import illegal_base64, illegal_raw_url_base64
from simulator.api.go_json import complaint
from simulator.api.jsonpath import compile_path
from simulator.api.paths import ResourcePath, parse
from simulator.api.protobuf import decode
from simulator.api.quantities import canonical
from simulator.api.resources import version_priority
from simulator.api.tables import human_duration


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (8, "8"), ("7", "7"), ("1000m", "1"), ("0.5", "500m"), ("1.5", "1500m"), ("100m", "100m"),
        ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("512", "512"), ("1000k", "1M"), ("64Gi", "64Gi"),
        ("0", "0"), ("1e3", "1e3"), ("12E", "12E"), ("1023", "1023"), ("abc", "abc"),
        # apimachinery v0.35.4, resource.ParseQuantity(…).String()
        ("1e19", "10e18"), ("12e17", "1200e15"), ("1e30", "1e30"), ("1e999999999", "1e999999999"),
        ("1e-10", "1e-9"), ("1e-30", "1e-9"), ("0.0000000001", "1n"), ("9" * 20, "9" * 20),
        ("7Ei", "7Ei"), ("8Ei", "9223372036854775807"), ("-16Ei", "-9223372036854775807"), ("100E", "100E"),
    ],
)  # fmt: skip
def test_quantities_in_canonical_form(given: Any, expected: str) -> None:
    assert canonical(given) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [  # go 1.26: base64.StdEncoding.DecodeString
        ("", None), ("abcd", None), ("YQ==", None), ("YWI=", None), ("YQ==\n", None), ("YQ=\n=", None),
        ("ab\ncd", None),
        ("abc", 0), ("a", 0), ("abcde", 4), ("abcdabc", 4), ("abcdabcdab", 8), ("abc$", 3), ("é", 0), ("abcdé", 4),
        ("=", 0), ("a=", 1), ("abcd=", 4), ("YQ=", 3), ("YQ\n=", 4), ("YQ=x", 2), ("YQ=\nx", 3), ("YQ==x", 4),
        ("YWI=x", 4), ("YWI=\nx", 5),
    ],
)  # fmt: skip
def test_base64_is_illegal_where_go_says_so(text: str, position: int | None) -> None:
    assert illegal_base64(text) == position


@pytest.mark.parametrize(
    ("text", "position"),
    [("a-_z", None), ("ab", None), ("abc", None), ("a", 0), ("abcde", 4), ("ab=", 2), ("a+", 1), ("é", 0)],
)
def test_base64_of_urls_has_no_padding(text: str, position: int | None) -> None:
    assert illegal_raw_url_base64(text) == position


@pytest.mark.parametrize(
    ("raw", "said"),
    [  # go 1.26: json.Unmarshal
        (b"\x7f", r"'\x7f' looking for beginning of value"), (b"\x80", r"'\u0080' looking for beginning of value"),
        (b"\xa0", r"'\u00a0' looking for beginning of value"), (b"\xad", r"'\u00ad' looking for beginning of value"),
        (b"\xa1", "'¡' looking for beginning of value"), ("é".encode(), "'Ã' looking for beginning of value"),
        (b"\x01", r"'\x01' looking for beginning of value"), (b"x", "'x' looking for beginning of value"),
        (b"{\xc3", "'Ã' looking for beginning of object key string"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_as_go_tells_it(raw: bytes, said: str) -> None:
    assert complaint(raw) == f"invalid character {said}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.replicas", [3]),
        (".spec.absent", []),
        (".spec.levels[*].domain", ["zone", "rack"]),
        (".spec.levels[1].domain", ["rack"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".metadata.labels['a.b/c']", ["x"]),
        ("{.spec.replicas}", [3]),
    ],
)
def test_json_paths(path: str, expected: list[Any]) -> None:
    body = {
        "metadata": {"labels": {"a.b/c": "x"}},
        "spec": {"replicas": 3, "levels": [{"domain": "zone"}, {"domain": "rack"}]},
        "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
    }
    assert compile_path(path)(body) == expected


def test_a_json_path_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match="unsupported JSONPath"):
        compile_path(".a[?(@.b > 1)]")


def test_what_kubectl_1_37_sends_for_create_namespace() -> None:
    # Recorded with `kubectl create ns foo -v=9`.
    raw = bytes.fromhex(
        "6b387300 0a0f0a02 7631 1209 4e616d65 7370616365 121b 0a13 0a03 666f6f 1200 1a00 2200 2a00 3200 3800 4200"
        "1200 1a02 0a00 1a00 2200"
    )

    assert decode(raw) == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "foo"}}


@pytest.mark.parametrize("raw", [b"k8s\x00", b"k8s\x00\x0a\xff", b"k8s\x00\x0a\x05\x12\x03Foo\x12\x00"])
def test_broken_or_unknown_protobuf_is_400(raw: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        decode(raw)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [  # k8s.io/apimachinery/pkg/util/duration/duration_test.go
        (1, "1s"), (70, "70s"), (190, "3m10s"), (600, "10m"), (4200, "70m"), (3 * 3600 + 600, "3h10m"),
        (9 * 3600, "9h"), (49 * 3600, "2d1h"), (10 * 86400, "10d"), (730 * 86400, "2y"), (9 * 365 * 86400, "9y"),
    ],
)  # fmt: skip
def test_human_durations(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/a", ResourcePath("", "v1", "namespaces", None, "a")),
        ("/api/v1/namespaces/a/status", ResourcePath("", "v1", "namespaces", None, "a", "status")),
        ("/api/v1/namespaces/a/pods", ResourcePath("", "v1", "pods", "a")),
        ("/api/v1/namespaces/a/pods/p/log", ResourcePath("", "v1", "pods", "a", "p", "log")),
        (
            "/api/v1/namespaces/a/pods/p:80/proxy/x/y",
            ResourcePath("", "v1", "pods", "a", "p:80", "proxy", "x/y"),
        ),
        ("/apis/g.io/v1/things", ResourcePath("g.io", "v1", "things")),
        ("/apis/g.io/v1/namespaces/a/things/t", ResourcePath("g.io", "v1", "things", "a", "t")),
        ("/apis/g.io/v1/things/a%2Fb", ResourcePath("g.io", "v1", "things", None, "a/b")),
        ("/apis/g.io/v1", None),
        ("/api", None),
        ("/healthz", None),
    ],
)
def test_urls(path: str, expected: ResourcePath | None) -> None:
    assert parse(path) == expected


def test_versions_are_ordered_as_kubernetes_does() -> None:
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2"]

    assert sorted(set(ordered), key=version_priority, reverse=True) == ordered
