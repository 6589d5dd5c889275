"""The pages: who sees what, and what they refuse."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, User
from clusters.credentials import decrypt
from clusters.models import Cluster
from tests.clusters.builders import add_node
from tests.conftest import make_user_with

LISTS = ("cluster-list", "node-list", "node-map")


@pytest.mark.parametrize("name", LISTS)
def test_a_page_type_without_its_right_says_which_right_it_takes(client: Client, db: None, name: str) -> None:
    client.force_login(make_user_with("nobody", "project:read"))

    answer = client.get(reverse(f"clusters:{name}"))

    assert answer.status_code == 403
    right = "cluster:read" if name == "cluster-list" else "nodes:read"
    assert right in answer.content.decode()


@pytest.mark.parametrize("name", [*LISTS, "cluster-add"])
def test_a_visitor_is_asked_to_sign_in(client: Client, cluster: Cluster, name: str) -> None:
    answer = client.get(reverse(f"clusters:{name}"))

    assert answer.status_code == 302
    assert "login" in answer.url or "sign-in" in answer.url


@pytest.mark.parametrize("pk", ["00000000-0000-4000-8000-000000000000", "nonsense", "%00", "9" * 60])
def test_an_unknown_and_a_malformed_id_are_the_same_404(client: Client, admin: User, pk: str) -> None:
    client.force_login(admin)

    for name in ("cluster-detail", "cluster-credential", "cluster-remove", "node-detail"):
        assert client.get(reverse(f"clusters:{name}", args=[pk])).status_code == 404


def test_a_cluster_outside_ones_scope_is_404(client: Client, researcher: User, watched: Cluster) -> None:
    other = Cluster.objects.create(name="cluster-b", server="https://b", credential=b"")
    node = add_node(other, "hidden-node")
    client.force_login(researcher)

    assert client.get(reverse("clusters:cluster-detail", args=[other.pk])).status_code == 404
    assert client.get(reverse("clusters:node-detail", args=[node.pk])).status_code == 404
    assert "hidden-node" not in client.get(reverse("clusters:node-list")).content.decode()
    assert client.get(reverse("clusters:node-list"), {"cluster": str(other.pk)}).status_code == 404


@pytest.mark.parametrize("name", ["cluster-credential", "cluster-remove", "cluster-test"])
def test_a_reader_may_not_write_and_nothing_is_written(
    client: Client, viewer: User, watched: Cluster, name: str
) -> None:
    client.force_login(viewer)

    answer = client.post(reverse(f"clusters:{name}", args=[watched.pk]), {"confirm": watched.name})

    assert answer.status_code == 403
    watched.refresh_from_db()
    assert (watched.generation, watched.deletion_requested_at) == (1, None)
    assert set(AuditEntry.objects.values_list("outcome", flat=True)) == {"Failed"}


def test_a_reader_may_not_add_a_cluster(client: Client, viewer: User) -> None:
    client.force_login(viewer)

    answer = client.post(reverse("clusters:cluster-add"), {"name": "x", "server": "https://10.0.0.1", "token": "t"})

    assert answer.status_code == 403
    assert not Cluster.objects.filter(name="x").exists()


def test_no_clusters_is_said_with_what_one_is(page: Any) -> None:
    assert "No clusters yet" in page("cluster-list")
    assert "Add cluster" in page("cluster-list")


def test_a_cluster_is_registered_encrypted_audited_and_its_secret_never_shown(client: Client, admin: User) -> None:
    client.force_login(admin)

    answer = client.post(
        reverse("clusters:cluster-add"),
        {"name": "prod", "server": "https://10.0.0.1:6443", "token": "canary-secret"},
    )

    cluster = Cluster.objects.get(name="prod")
    assert answer.status_code == 302
    assert cluster.phase == "WaitingToConnect"
    assert b"canary-secret" not in bytes(cluster.credential)
    assert decrypt(cluster.credential).token == "canary-secret"
    entry = AuditEntry.objects.get(action="create")
    assert (entry.object_name, entry.subject) == ("prod", admin.email)
    assert "canary-secret" not in str(entry.after)
    assert "canary-secret" not in client.get(answer.url).content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "Prod_1"}, "cannot be the name of a cluster"),
        ({"server": "http://10.0.0.1"}, "the connection must be encrypted"),
        ({"server": "https://169.254.169.254"}, "not allowed for an API server"),
        ({"server": ""}, "give a kubeconfig, or the address"),
        ({"token": ""}, "not a bearer token"),
        ({"certificate_authority": "nonsense"}, "not a PEM certificate"),
        ({"kubeconfig": "users: ["}, "give a kubeconfig or an address with a token, not both"),
        ({"kubeconfig": "users: [", "server": "", "token": ""}, "not readable YAML"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    client: Client, admin: User, fields: dict[str, str], said: str
) -> None:
    client.force_login(admin)
    given = {"name": "prod", "server": "https://10.0.0.1:6443", "token": "canary-secret"} | fields

    answer = client.post(reverse("clusters:cluster-add"), given)

    assert answer.status_code == 422
    text = answer.content.decode()
    assert said in text
    assert "canary-secret" not in text
    assert not Cluster.objects.exists()


def test_a_name_that_is_taken_is_refused(client: Client, admin: User, cluster: Cluster) -> None:
    client.force_login(admin)

    answer = client.post(
        reverse("clusters:cluster-add"), {"name": cluster.name, "server": "https://10.0.0.1", "token": "t"}
    )

    assert answer.status_code == 422
    assert "registered already" in answer.content.decode()


def test_the_add_page_prints_the_fewest_rights(page: Any) -> None:
    text = page("cluster-add")

    assert "kind: ClusterRole" in text
    assert "muster-system" in text
    assert "&#x27;*&#x27;" not in text


def test_removing_asks_for_the_name_and_refuses_while_in_use(
    client: Client, admin: User, watched: Cluster, project: Any
) -> None:
    client.force_login(admin)
    url = reverse("clusters:cluster-remove", args=[watched.pk])

    assert "assistant" in client.get(url).content.decode()
    wrong = client.post(url, {"confirm": "cluster"})
    used = client.post(url, {"confirm": watched.name})

    assert (wrong.status_code, used.status_code) == (422, 422)
    assert "in use" in used.content.decode()
    project.delete()
    project.department.delete()
    assert client.post(url, {"confirm": watched.name}).status_code == 302
    watched.refresh_from_db()
    assert watched.is_being_deleted


def test_a_cluster_shows_components_with_install_commands(page: Any, watched: Cluster) -> None:
    watched.components = [
        {"key": "kai-scheduler", "health": "healthy", "version": "v0.17.0", "since": "2026-11-29T10:00:00Z"},
        {"key": "grove", "health": "missing", "version": "", "since": "2026-11-29T10:00:00Z", "message": "Not there."},
    ]
    watched.save()

    text = page("cluster-detail", watched.pk)

    assert "v0.17.0" in text
    assert "helm upgrade --install grove" in text
    assert "Makes the pods of a multi-role graph" in text
    assert "Not looked for yet." in text
