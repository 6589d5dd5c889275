"""What was made is there at once with its ETag, and what was deleted, in the state that was read, is gone: 404, as
if it had never been."""

import pytest

REPORT = {"name": "r", "start": "2026-11-29T10:00:00Z", "end": "2026-11-29T12:00:00Z"}
PERMISSIONS = [{"resourceType": "project", "actions": ["read"]}]
KINDS = {
    "/api/v1/service-accounts": {"name": "bot"},
    "/api/v1/apps": {"name": "bot"},
    "/api/v1/access-keys": {"name": "key-one"},
    "/api/v1/user-applications": {"name": "key-one"},
    "/api/v1/users": {"email": "new@example.org"},
    "/api/v1/org-unit/reports": REPORT,
    "/api/v2/authorization/roles": {"name": "reader", "permissions": PERMISSIONS},
    "/api/v1/authorization/access-rules": {
        "subjectId": "readers", "subjectType": "group", "roleId": 8, "scopeType": "tenant", "scopeId": "1",
    },
}  # fmt: skip


@pytest.mark.parametrize("path", KINDS)
def test_what_was_deleted_is_gone_and_what_was_made_is_there(send, world, path):
    made = send("post", path, KINDS[path])
    assert made.status_code in (201, 202), made.content
    one = f"{path}/{made.json()['id']}"

    shown = send("get", one)
    stale = send("delete", one, HTTP_IF_MATCH='"of another state"')
    deleted = send("delete", one, HTTP_IF_MATCH=shown.headers["ETag"])
    again = [send(method, one).status_code for method in ("get", "delete")]

    assert shown.status_code == 200
    assert str(shown.json()["id"]) == str(made.json()["id"])
    assert (stale.status_code, deleted.status_code) == (412, 204)
    assert again == [404, 404]
