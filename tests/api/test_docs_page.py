"""The page of the API sends requests as the person who is signed in, under the strict content policy."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.core.browser import ORIGIN, browser, serve


@pytest.fixture
def page_of_the_api(admin, client_of):
    return client_of(admin).get("/api/docs/").content.decode()


def test_every_operation_can_be_tried_with_a_body_of_its_own_example(page_of_the_api):
    assert page_of_the_api.count("data-try ") > 170
    button = re.search(r'<button[^>]*data-method="POST" data-path="/api/v1/network-topologies"[^>]*>', page_of_the_api)
    body = re.search(r'data-body="([^"]*)"', button[0])[1].replace("&quot;", '"')
    assert set(json.loads(body)) == {"name", "clusterId", "levels"}
    assert "<script>" not in page_of_the_api
    assert " style=" not in page_of_the_api


def test_a_request_is_sent_and_its_answer_shown(page_of_the_api):
    sent = []

    expect.set_options(timeout=20_000)

    def answer(route):
        sent.append(route.request)
        route.fulfill(status=201, content_type="application/json", body='{"id": "1"}')

    with browser() as chromium:
        page = chromium.new_page()
        complaints = serve(page, {"/api/docs/": page_of_the_api})
        page.route("**/api/v1/**", answer)
        page.goto(f"{ORIGIN}/api/docs/")
        page.get_by_role("button", name="Try POST /api/v1/network-topologies", exact=True).click()
        expect(page.get_by_label("Path")).to_have_value("/api/v1/network-topologies")
        page.get_by_role("button", name="Send as me").click()
        expect(page.locator("#try-status")).to_have_text(re.compile("HTTP 201"))
        expect(page.locator("#try-answer")).to_have_text('{\n  "id": "1"\n}')
        page.get_by_label("Path").fill("https://elsewhere.example.org/api/v1/clusters")
        page.get_by_role("button", name="Send as me").click()
        expect(page.locator("#try-status")).to_have_text("The path must begin with /api/ or /v1/k8s/.")
        request = sent[0]
        headers, body, url = request.headers, request.post_data, urlsplit(request.url)

    assert len(sent) == 1
    assert (request.method, url.path, parse_qs(url.query)) == (
        "POST", "/api/v1/network-topologies", {"dryRun": ["true"]},
    )  # fmt: skip
    assert headers["x-csrftoken"]
    assert set(json.loads(body)) == {"name", "clusterId", "levels"}
    assert complaints == []
