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
