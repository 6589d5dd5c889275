"""What a script does with the official client about people: users, service accounts, keys, roles, rules, the audit log;
and the groups by which older scripts know accounts and keys (`apps`, `user-applications`)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.api.runapy_job import Job


def people(job: "Job", project: Any) -> None:
    """Everything about them; who was made is deleted at the end."""
    user = users(job)
    rules(job, project, user)
    robots, keys = job.group("ServiceAccounts"), job.group("AccessKeys")
    accounts(
        job,
        create=robots.create_service_account,
        one=robots.get_service_account_by_id,
        all_=robots.get_service_accounts,
        update=robots.update_service_account_by_id,
        renew=robots.regenerate_service_account_secret,
        delete=robots.delete_service_account_by_id,
    )
    apps = job.group("Applications")
    accounts(
        job,
        create=apps.create_application,
        one=apps.get_application_by_id,
        all_=apps.get_applications,
        update=apps.update_application_by_id,
        renew=apps.regenerate_application_secret,
        delete=apps.delete_application_by_id,
    )
    access_keys(
        job,
        create=keys.create_access_key1,
        one=keys.get_access_key_by_id1,
        all_=lambda: job.call(keys.get_access_keys())["accessKeys"],
        everybodys=lambda: job.call(keys.get_access_keys_administration())["accessKeys"],
        renew=keys.regenerate_access_key_secret,
        delete=keys.delete_access_key_by_id,
        revoke=keys.delete_access_key_by_id_administration,
    )
    older = job.group("UserApplications")
    access_keys(
        job,
        create=older.create_user_application,
        one=older.get_user_application_by_id,
        all_=lambda: job.call(older.get_user_applications()),
        everybodys=lambda: job.call(older.get_user_applications_administration()),
        renew=older.regenerate_user_application_secret,
        delete=older.delete_user_application_by_id,
        revoke=older.delete_user_application_by_id_administration,
    )
    job.call(job.group("Users").delete_user_by_id(user["id"]))
    assert job.call(job.group("Idps").get_idps()) == []
    log = job.call(job.group("AuditLogs").get_audit_logs(start="2020-01-01T00:00:00Z", end="2100-01-01T00:00:00Z"))
    assert log["audit_logs"]


def users(job: "Job") -> Any:
    group, call, email = job.group("Users"), job.call, f"{job.name('ada')}@example.org"
    made = call(group.create_user({"email": email, "resetPassword": True}))
    assert call(group.get_user_by_id(made["id"]))["username"] == email
    assert [row["id"] for row in call(group.get_users(filter_by=[f"username=={email}"]))] == [made["id"]]
    assert call(group.count_users(filter_by=[f"username=={email}"])) == {"count": 1}
    assert call(group.reset_user_password(made["id"]))["tempPassword"] != made["tempPassword"]
    call(group.logout_user(made["id"]))
    return made


def rules(job: "Job", project: Any, person: Any) -> None:
    group, call, user = job.group("AccessRules"), job.call, person["username"]
    viewer = next(role for role in call(job.group("Roles").get_roles_v1()) if role["name"] == "Viewer")
    assert call(job.group("Roles").get_role_v1(viewer["id"]))["name"] == "Viewer"
    place = {"scopeType": "project", "scopeId": project["id"]}
    subject = {"subjectId": person["id"], "subjectType": "user"}
    rule = call(group.create_access_rule({**subject, "roleId": viewer["id"], **place}))
    assert call(group.get_access_rule(rule["id"]))["scopeId"] == project["id"]
    assert theirs(job, user) == [rule["id"]]
    call(group.delete_access_rule(rule["id"]))
    subjects = [subject, {"subjectId": job.name("readers"), "subjectType": "group"}]
    payload = {"roleId": viewer["id"], "subjects": subjects, "scopes": [place]}
    call(group.access_rules_batch_create({"payload": payload}))
    of_both = [*theirs(job, user), *theirs(job, job.name("readers"))]
    assert len(of_both) == 2
    done = call(group.access_rules_batch({"ids": [str(id_) for id_ in of_both], "action": "delete"}))
    assert (done["succeeded"], theirs(job, user)) == ([str(id_) for id_ in of_both], [])
    assert call(group.count_access_rules())["count"] >= 1
    permissions = job.group("Permissions")
    assert call(permissions.get_permissions())
    assert call(permissions.get_permitted_scopes({"resourceType": "project", "action": "read"}))
    assert "accessRules" in call(job.group("Me").get_me_access_rules())
    assert call(job.group("Me").count_me_access_rules())["count"] >= 1


def theirs(job: "Job", subject: str) -> list[int]:
    """The ids of the rules of one subject: an e-mail address, or the name of a group."""
    found = job.call(job.group("AccessRules").get_access_rules(subject_ids=[subject]))["accessRules"]
    return [rule["id"] for rule in found]


def accounts(job: "Job", *, create: Any, one: Any, all_: Any, update: Any, renew: Any, delete: Any) -> None:
    call = job.call
    made = call(create({"name": job.name("robot")}))
    assert call(one(made["id"]))["name"] == job.name("robot")
    assert made["id"] in [row["id"] for row in call(all_())]
    call(update(made["id"], {"enabled": False}))
    assert call(one(made["id"]))["enabled"] is False
    assert secret_of(call(renew(made["id"]))) != secret_of(made)
    call(delete(made["id"]))
    assert made["id"] not in [row["id"] for row in call(all_())]


def access_keys(
    job: "Job", *, create: Any, one: Any, all_: Any, everybodys: Any, renew: Any, delete: Any, revoke: Any
) -> None:
    call = job.call
    made, second = (call(create({"name": job.name(word)})) for word in ("key", "second"))
    assert call(one(made["id"]))["name"] == job.name("key")
    assert secret_of(call(renew(made["id"]))) != secret_of(made)
    listed = [row["id"] for row in all_()]
    assert {made["id"], second["id"]} <= set(listed)
    assert {made["id"], second["id"]} <= {row["id"] for row in everybodys()}
    call(delete(made["id"]))
    call(revoke(second["id"]))
    assert not {made["id"], second["id"]} & {row["id"] for row in all_()}


def secret_of(answer: Any) -> str:
    found = answer.get("clientSecret") or answer["secret"]
    assert found
    return str(found)
