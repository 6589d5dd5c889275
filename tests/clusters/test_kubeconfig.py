"""Hostile and ordinary kubeconfigs. The ordinary one has the shape that `kubectl config view --raw --minify` prints."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusters.addresses import check_server, is_refused
from clusters.kubeconfig import read_kubeconfig
from core.errors import InvalidInput

CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
KEY = "-----BEGIN EC PRIVATE KEY-----\nBBBB\n-----END EC PRIVATE KEY-----"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin@prod",
            "contexts": [{"name": "admin@prod", "context": {"cluster": "prod", "user": "admin"}}],
            "clusters": [
                {
                    "name": "prod",
                    "cluster": {"server": "https://10.1.2.3:6443/", "certificate-authority-data": encoded(CA)}
                    | (cluster or {}),
                }
            ],
            "users": [{"name": "admin", "user": {"token": "abc.def"} if user is None else user}],
        }
    )


def test_a_kubeconfig_is_reduced_to_server_ca_and_token() -> None:
    access = read_kubeconfig(kubeconfig())

    assert access.server == "https://10.1.2.3:6443"
    assert access.certificate_authority == CA
    assert access.credential.token == "abc.def"
    assert "abc.def" not in repr(access)


def test_a_client_certificate_is_taken_with_its_key() -> None:
    user = {"client-certificate-data": encoded(CA), "client-key-data": encoded(KEY)}

    credential = read_kubeconfig(kubeconfig(user=user)).credential

    assert (credential.token, credential.certificate, credential.key) == ("", CA, KEY)


def test_an_alias_is_named_as_the_reason() -> None:
    with pytest.raises(InvalidInput, match="aliases"):
        read_kubeconfig(kubeconfig() + "a: &a [x]\nb: [*a, *a]\n")


def test_only_the_current_context_is_read() -> None:
    document = yaml.safe_load(kubeconfig())
    document["users"].append({"name": "other", "user": {"exec": {"command": "sh"}}})

    assert read_kubeconfig(yaml.safe_dump(document)).credential.token == "abc.def"


@pytest.mark.parametrize(
    ("cluster", "user", "named"),
    [
        ({}, {"exec": {"command": "sh", "args": ["-c", "touch MARKER"]}}, "users.exec"),
        ({}, {"token": "t", "exec": {"command": "sh"}}, "users.exec"),
        ({}, {"auth-provider": {"name": "gcp"}}, "users.auth-provider"),
        ({}, {"tokenFile": "/etc/passwd"}, "users.tokenFile"),
        ({}, {"token": "t", "tokenFile": "/etc/passwd"}, "users.tokenFile"),
        ({}, {"client-certificate": "/etc/passwd", "client-key": "/etc/passwd"}, "users.client-certificate"),
        ({}, {"username": "root", "password": "root"}, "users.username"),
        ({}, {"token": "t", "as": "system:admin"}, "users.as"),
        ({"proxy-url": "http://127.0.0.1:3128"}, None, "clusters.proxy-url"),
        ({"insecure-skip-tls-verify": True}, None, "clusters.insecure-skip-tls-verify"),
        ({"certificate-authority": "/etc/ssl/ca.pem"}, None, "clusters.certificate-authority"),
        ({"tls-server-name": "elsewhere"}, None, "clusters.tls-server-name"),
    ],
)
def test_what_runs_reads_or_redirects_is_refused_by_name(
    cluster: dict[str, Any], user: dict[str, Any] | None, named: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_kubeconfig(kubeconfig(cluster, user))

    assert f"kubeconfig.{named}" in [fault.field for fault in refusal.value.faults]


def test_an_exec_plug_in_leaves_no_trace(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    with pytest.raises(InvalidInput):
        read_kubeconfig(kubeconfig(user={"exec": {"command": "touch", "args": [str(marker)]}}))

    assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "just text",
        "{",
        "a: &a [x]\nb: *a",
        "lol: &lol [x,x,x,x,x,x,x,x,x]\nlol2: [*lol,*lol]",
        "[" * 100_000,
        "{a: " * 2000,
        "- " * 2000 + "x",
        "\n".join(" " * depth + "a:" for depth in range(400)),
        "a: !!python/object/apply:os.system ['touch MARKER']",
        "x" * 300_000,
        "1: 2",
        "\x00",
        "\ud800",
        "current-context: a\ncontexts: {a: b}",
        "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\nclusters: []",
        "current-context: [a]",
    ],
)
def test_what_is_no_kubeconfig_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_kubeconfig(text)

    assert refusal.value.faults[0].field == "kubeconfig"
    assert refusal.value.faults[0].message


def test_a_number_of_very_many_digits_is_told_in_our_words() -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_kubeconfig("current-context: " + "9" * 4301)

    assert [fault.message for fault in refusal.value.faults] == [f"contexts has no entry '{'9' * 80}'"]


@pytest.mark.parametrize("user", [{}, {"token": ""}, {"token": "a\r\nHost: x"}, {"token": "a b"}, {"token": ["x"]}])
def test_a_user_without_a_usable_credential_is_refused(user: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_kubeconfig(kubeconfig(user=user))


@pytest.mark.parametrize(
    "url",
    [
        "http://10.1.2.3:6443",
        "https://169.254.169.254",
        "https://[fd00:ec2::254]",
        "https://[::ffff:127.0.0.1]",
        "https://0x7f.1",
        "https://2130706433",
        "https://127.1",
        "https://0177.0.0.1",
        "https://0.0.0.0",
        "https://[::]",
        "https://224.0.0.1",
        "https://[fe80::1]",
        "https://100.100.100.200",
        "https://user:password@10.1.2.3",
        "https://10.1.2.3/?x=1",
        "https://10.1.2.3/#x",
        "https://10.1.2.3:99999",
        "https://10.1.2.3:0",
        "https://127.0.0.2",
        "file:///etc/passwd",
        "gopher://10.1.2.3",
        "//10.1.2.3",
        "https://",
        "",
        "https://[",
        " https://10.1.2.3",
        "https://10.1.2.3/a b",
        "https://10.1.2.3/\r\nX-Header: 1",
        "https://10.1.2.3/a\tb",
        "https://10.1.2.3/../admin",
        "https://10.1.2.3/a/..",
        "https://10.1.2.3//admin",
        "https://10.1.2.3/%2e%2e/admin",
        "https://10.1.2.3\\@169.254.169.254",
        "https://127。0。0。1",
        "https://ⓛocalhost",
    ],
)
def test_an_address_that_is_no_api_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_server(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://10.1.2.3:6443",
        "https://api.example.org",
        "http://127.0.0.1:8001",
        "https://[fd12::1]:6443",
        "https://rancher.example.org/k8s/clusters/c-m-x_1",
        "https://10.1.2.3/v1.28/",
    ],
)
def test_an_ordinary_address_is_taken(url: str) -> None:
    assert check_server(url) == url.rstrip("/")


@pytest.mark.parametrize(
    ("address", "host", "refused"),
    [
        ("127.0.0.1", "evil.example.org", True),  # a name that was pointed at ourselves
        ("127.0.0.1", "localhost", False),
        ("::1", "[::1]", False),
        ("::ffff:169.254.169.254", "metadata.example.org", True),
        ("169.254.169.254", "metadata.example.org", True),
        ("fe80::1%eth0", "x.example.org", True),
        ("10.0.0.5", "api.example.org", False),
        ("203.0.113.5", "api.example.org", False),
    ],
)
def test_the_address_that_a_connection_really_has_is_judged(address: str, host: str, refused: bool) -> None:
    assert is_refused(address, host) is refused
