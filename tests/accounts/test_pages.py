"""The pages of Administration: forms say what is wrong, secrets are shown once, what is not permitted is named."""

import re

import pytest
from django.test import Client

from accounts.models import AccessKey, AccessRule, AuditEntry, Role, ScopeType, User
from accounts.permissions import has_right
from accounts.role_words import RESOURCE_LABELS, action_labels
from accounts.roles import RESOURCES
from tests.conftest import make_user


@pytest.fixture
def page(admin, client_of):
    return client_of(admin)


def text_of(answer):
    return answer.content.decode()


def secret_in(answer):
    return re.findall(r'<code id="secret-\d+">([^<]+)</code>', text_of(answer))[-1]


def test_a_new_user_signs_in_with_a_temporary_password_and_must_choose_another(page):
    made = page.post("/access/users/new", {"email": "lin@example.org", "name": "Lin"})
    assert made.status_code == 200
    assert made.headers["Cache-Control"] == "no-store"
    password, client = secret_in(made), Client()

    client.post("/account/login", {"email": "lin@example.org", "password": password})
    assert client.get("/workloads/").headers["Location"] == "/account/password"
    for path in ("/api/v1/authorization/permissions", "/v1/k8s/setting"):
        assert client.get(path).status_code == 403

    wrong = client.post("/account/password", {"currentPassword": "x", "newPassword": "correct horse battery"})
    assert wrong.status_code == 422
    assert wrong.context["form"].errors["currentPassword"] == ["This is not your current password."]
    weak = client.post("/account/password", {"currentPassword": password, "newPassword": "short"})
    assert weak.status_code == 422
    assert "12" in text_of(weak)
    good = client.post("/account/password", {"currentPassword": password, "newPassword": "correct horse battery"})
    assert good.headers["Location"] == "/"
    assert client.get("/account/rights").status_code == 200


def test_a_temporary_password_is_good_for_no_token(page):
    password = secret_in(page.post("/access/users/new", {"email": "lin@example.org"}))

    body = {"grantType": "password", "username": "lin@example.org", "password": password}
    answer = Client().post("/api/v1/token", body, content_type="application/json")

    assert answer.status_code == 401


def test_what_is_wrong_with_a_new_user_stands_beside_the_field(page):
    make_user("lin")

    taken = page.post("/access/users/new", {"email": "lin@example.org"})
    wrong = page.post("/access/users/new", {"email": "lin"})

    assert (taken.status_code, wrong.status_code) == (422, 422)
    assert "exists already" in text_of(taken)
    assert "name@example.org" in text_of(wrong)


def test_a_reset_asks_for_the_name_and_signs_the_person_out(page, client_of):
    person = make_user("lin")
    theirs = client_of(person)
    url = f"/access/users/{person.pk}/password"

    assert page.post(url, {"confirm": "someone else"}).status_code == 422
    shown = page.post(url, {"confirm": "lin@example.org"})

    assert User.objects.get(pk=person.pk).check_password(secret_in(shown))
    assert theirs.get("/account/rights").headers["Location"].startswith("/account/login")


def test_people_are_disabled_enabled_and_deleted(page):
    person = make_user("lin")
    at = f"/access/users/{person.pk}"

    page.post(f"{at}/disable", {"confirm": "lin@example.org"})
    assert User.objects.get(pk=person.pk).is_active is False
    page.post(f"{at}/enable")
    assert User.objects.get(pk=person.pk).is_active is True
    page.post(f"{at}/delete", {"confirm": "lin@example.org"})
    assert not User.objects.filter(pk=person.pk).exists()
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["update", "update", "delete"]


def test_nobody_disables_themselves(page, admin):
    answer = page.post(f"/access/users/{admin.pk}/disable", {"confirm": admin.email})

    assert answer.status_code == 409
    assert "your own account" in text_of(answer)


@pytest.mark.parametrize("act", ["disable", "delete"])
def test_what_nobody_may_do_to_themselves_is_refused_before_a_name_is_asked_for(page, admin, act):
    answer = page.get(f"/access/users/{admin.pk}/{act}")

    assert "You cannot do this to your own account." in text_of(answer)
    assert 'name="confirm"' not in answer.content.decode()


def test_the_last_administrators_rule_is_kept_before_a_name_is_asked_for(page, admin):
    answer = page.get(f"/access/access-rules/{admin.access_rules.get().pk}/delete")

    assert "This is the last rule by which anybody may administrate" in text_of(answer)
    assert 'name="confirm"' not in answer.content.decode()


def test_a_role_is_given_and_taken_by_page(page, project):
    person = make_user("lin")
    form = {"subjectType": "user", "subjectId": "lin@example.org", "role": "L1 researcher"}

    given = page.post("/access/rules/new", {**form, "scope": f"project:{project.pk}"})
    assert given.headers["Location"] == "/access/rules/"
    assert has_right(person, "workloads:create", project.scope)
    assert "project: assistant" in text_of(page.get("/access/rules/"))

    rule = AccessRule.objects.get(user=person)
    taken = page.post(f"/access/access-rules/{rule.pk}/delete", {"confirm": "lin@example.org"})
    assert taken.status_code == 302
    assert not AccessRule.objects.filter(user=person).exists()


def test_a_department_administrator_is_offered_their_own_scopes_only(department_admin, client_of, project, cluster):
    from organizations.models import Department

    Department.objects.create(cluster=cluster, name="payments")

    form = text_of(client_of(department_admin).get("/access/rules/new"))

    assert "project: assistant" in form
    assert "department: research" in form
    assert "payments" not in form
    assert "whole installation" not in form


def test_a_role_beyond_ones_own_rights_is_a_page_that_names_the_right(department_admin, client_of, project):
    form = {"subjectType": "group", "subjectId": "all", "role": "System administrator"}

    answer = client_of(department_admin).post("/access/rules/new", {**form, "scope": f"project:{project.pk}"})

    assert answer.status_code == 403
    assert "access-keys:create" in text_of(answer)


def test_a_service_account_is_made_renewed_switched_off_and_deleted(page):
    made = page.post("/access/service-accounts/new", {"name": "deploy-bot"})
    first, account = secret_in(made), User.objects.get(name="deploy-bot")
    at = f"/access/service-accounts/{account.pk}"

    detail = text_of(page.get(f"{at}/"))
    assert first not in detail
    assert first[:12] in detail
    second = secret_in(page.post(f"{at}/secret", {"confirm": "deploy-bot"}))
    assert second != first
    page.post(f"{at}/enabled", {"enabled": "0"})
    assert User.objects.get(pk=account.pk).is_active is False
    page.post(f"{at}/delete", {"confirm": "deploy-bot"})
    assert not AccessKey.objects.exists()


def test_ones_own_keys_are_made_and_revoked_and_nobody_elses_are_seen(viewer, admin, client_of):
    mine, others = client_of(viewer), client_of(admin)
    secret = secret_in(mine.post("/access/access-keys/new", {"name": "laptop"}))
    key = AccessKey.objects.get()

    assert secret not in text_of(mine.get("/access/access-keys/"))
    assert "laptop" not in text_of(others.get("/access/access-keys/"))
    assert "laptop" in text_of(others.get("/access/access-keys/?of=all"))
    assert mine.get("/access/access-keys/?of=all").status_code == 403
    assert mine.post(f"/access/access-keys/{key.pk}/delete", {"confirm": "laptop"}).status_code == 302
    assert "laptop" not in text_of(mine.get("/access/access-keys/").content and mine.get("/access/access-keys/"))


def test_a_custom_role_is_a_matrix_of_rights(page):
    body = {"name": "Submitter", "description": "", "enabled": "on", "right": ["workloads:read", "workloads:create"]}

    made = page.post("/access/roles/new", body)

    assert made.status_code == 302
    role = Role.objects.get()
    assert role.rights == ["workloads:create", "workloads:read"]
    opened = page.get(f"/access/roles/{role.pk}/").context["updated"]
    page.post(f"/access/roles/{role.pk}/", {**body, "right": ["workloads:read"], "updated": opened})
    assert Role.objects.get().rights == ["workloads:read"]
    for stale in ({"updated": opened}, {}):
        answer = page.post(f"/access/roles/{role.pk}/", {**body, "right": ["workloads:create"], **stale})
        assert (answer.status_code, "changed by somebody else" in text_of(answer)) == (422, True)
    assert Role.objects.get().rights == ["workloads:read"]
    assert page.post("/access/roles/new", {"name": "Empty"}).status_code == 422
    for taken in ("submitter", "Ｓｕｂｍｉｔｔｅｒ", "VIEWER", "x\u202eretti"):
        assert page.post("/access/roles/new", {**body, "name": taken}).status_code == 422
    assert page.post(f"/access/roles/{role.pk}/delete", {"confirm": "Submitter"}).status_code == 302


def test_rights_have_a_word_for_every_resource_and_action_and_keep_their_code(page):
    shown = text_of(page.get("/access/roles/predefined/1/"))

    assert set(RESOURCE_LABELS) == set(RESOURCES)
    assert all(str(label) in shown and resource in shown for resource, label in RESOURCE_LABELS.items())
    assert [str(label) for label in action_labels()] == ["create", "read", "update", "delete"]


def test_what_a_person_may_do_and_why_is_answered(page, researcher, project):
    at = f"/access/users/{researcher.pk}/"

    yes = text_of(page.get(f"{at}?resource=workloads&action=create&scope=project:{project.pk}"))
    no = text_of(page.get(f"{at}?resource=nodepools&action=delete&scope=project:{project.pk}"))

    assert "Yes: workloads:create holds for project: assistant." in yes
    assert "because of the role Researcher on project assistant" in yes
    assert "No: no rule gives nodepools:delete for project: assistant." in no


def test_a_right_on_a_department_answers_for_its_projects_and_no_others(page, department_admin, project, cluster):
    from organizations.models import Department, Project

    other = Department.objects.create(cluster=cluster, name="payments")
    elsewhere = Project.objects.create(cluster=cluster, department=other, name="fraud", namespace="runai-fraud")
    at = f"/access/users/{department_admin.pk}/?resource=project&action=update&scope=project:"

    assert "Yes: project:update" in text_of(page.get(f"{at}{project.pk}"))
    assert "No: no rule gives project:update" in text_of(page.get(f"{at}{elsewhere.pk}"))


def test_the_audit_log_shows_changes_refusals_and_sign_ins(page, viewer, client_of):
    page.post("/access/users/new", {"email": "lin@example.org"})
    client_of(viewer).post("/access/users/new", {"email": "mei@example.org"})
    Client().post("/account/login", {"email": "nobody@example.org", "password": "x"})

    shown = text_of(page.get("/audit/"))

    assert "password: changed" in shown
    assert "You do not have the right users:create." in shown
    assert "wrong credentials" in shown
    refused = AuditEntry.objects.get(outcome="Failed", subject="viewer@example.org")
    assert (refused.method, refused.path, refused.action) == ("POST", "/access/users/new", "create")
    assert "lin@example.org" not in text_of(page.get("/audit/?filter=outcome==Failed")).split("<tbody>")[1]
    csv = b"".join(page.get("/audit/?format=csv").streaming_content).decode()
    assert "nobody@example.org" in csv


def test_refusals_by_rest_are_on_record_too(viewer, client_of, cluster):
    client_of(viewer).delete(f"/api/v1/clusters/{cluster.pk}")

    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.source, entry.subject) == ("Failed", "api", "viewer@example.org")
    assert entry.reason.startswith("You do not have the right cluster:")


def test_signing_in_and_out_is_on_record(db):
    person = make_user("lin")
    person.set_password("correct horse battery")
    person.save()
    client = Client()

    client.post("/account/login", {"email": "lin@example.org", "password": "correct horse battery"})
    client.post("/account/logout")

    assert [(e.action, e.outcome, e.object_name) for e in AuditEntry.objects.order_by("pk")] == [
        ("sign-in", "Succeeded", "lin@example.org"),
        ("sign-out", "Succeeded", "lin@example.org"),
    ]


def test_everybody_sees_what_they_may_do_and_why(researcher, client_of):
    shown = text_of(client_of(researcher).get("/account/rights"))

    assert "Researcher" in shown
    assert "assistant" in shown


def test_the_navigation_leaves_out_what_there_is_no_right_to(viewer, admin, client_of):
    few, all_of = text_of(client_of(viewer).get("/account/rights")), text_of(client_of(admin).get("/account/rights"))

    for url in ("/access/rules/", "/access/users/", "/access/service-accounts/", "/audit/"):
        assert f'href="{url}"' in all_of
        assert f'href="{url}"' not in few
    assert 'href="/access/access-keys/"' in few


def test_a_group_rule_is_shown_with_its_group(page, project):
    person = make_user("lin")
    person.is_local, person.groups = False, ["ml-platform"]
    person.save()
    AccessRule.objects.create(
        group="ml-platform", role="Viewer", scope_type=ScopeType.PROJECT, scope_id=str(project.pk), cluster_id=None
    )

    assert "the group ml-platform" in text_of(page.get(f"/access/users/{person.pk}/"))
