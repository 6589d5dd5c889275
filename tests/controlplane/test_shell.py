"""What every page's shell carries."""

STREAM = 'data-live-url="/live"'


def test_the_answer_to_a_form_is_not_fetched_again_by_itself(admin, client_of, cluster):
    client = client_of(admin)
    asked = client.get("/node-pools/new/")
    refused = client.post("/node-pools/new/", {"cluster": cluster.name})

    assert STREAM in asked.content.decode()
    assert refused.status_code == 422
    assert "<nav " in refused.content.decode()
    assert STREAM not in refused.content.decode()


def test_a_person_without_a_role_is_told_that_and_not_sent_in_circles(viewer, client_of):
    client = client_of(viewer)
    seen = client.get("/access/users/").content.decode()
    viewer.access_rules.all().delete()
    answer = client.get("/")

    assert "It takes the right" in seen
    assert "Back to the overview" in seen
    assert answer.status_code == 403
    assert "You have no role yet" in answer.content.decode()
    assert "Back to the overview" not in answer.content.decode()
