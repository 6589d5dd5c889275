"""What connects a cluster, over the API: the same manifest and commands as on the page."""

import yaml

from clusters import rbac


def test_the_commands_apply_the_manifest_and_print_the_token(client_of, viewer, cluster):
    answer = client_of(viewer).get(f"/api/v1/clusters/{cluster.pk}/cluster-install-info?version=2.24")

    told = answer.json()
    assert (told["repositoryName"], told["chartRepoURL"], told["clientSecret"]) == ("", "", "")
    first, *rest = told["installationStr"].splitlines()
    end = rest.index("EOF")
    assert first == "kubectl apply --filename - <<'EOF'"
    kinds = [document["kind"] for document in yaml.safe_load_all("\n".join(rest[:end]))]
    assert kinds == ["Namespace", "ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding"]
    assert rest[end + 1 :] == [rbac.token_command()]


def test_the_install_file_is_the_manifest(client_of, viewer, cluster):
    text = client_of(viewer).get(f"/v1/k8s/clusters/{cluster.pk}/installfile?format=yaml").json()
    accounts = [one for one in yaml.safe_load_all(text) if one["kind"] == "ServiceAccount"]
    assert [one["metadata"]["name"] for one in accounts] == ["muster"]


def test_who_may_not_see_the_cluster_finds_neither(client_of, outsider, viewer, cluster):
    absent = "0f6d3f4e-0000-4000-8000-0000000000ff"
    for path in ("/api/v1/clusters/{}/cluster-install-info", "/v1/k8s/clusters/{}/installfile"):
        assert client_of(outsider).get(path.format(cluster.pk)).status_code in (403, 404)
        assert client_of(viewer).get(path.format(absent)).status_code == 404
