"""The language that a person chose follows the account; a browser's own language holds until then."""

import pytest
from django.test import Client

from accounts.models import User

CHINESE, ENGLISH = 'lang="zh-hans"', 'lang="en"'


@pytest.fixture
def person(db):
    return User.objects.create_user("ada@example.org", "correct horse battery")


def browser_of(person, language="en"):
    client = Client(headers={"Accept-Language": language})
    client.force_login(person)
    return client


def page(client):
    return client.get("/account/rights").content.decode()


def test_a_chosen_language_is_there_in_another_browser(person):
    browser_of(person).post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})

    assert CHINESE in page(browser_of(person, "en"))


def test_the_last_choice_holds_in_every_browser(person):
    first, second = browser_of(person), browser_of(person)
    first.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    second.post("/i18n/setlang/", {"language": "en", "next": "/"})

    assert ENGLISH in page(first)


def test_without_a_choice_the_browser_says_the_language(person):
    assert CHINESE in page(browser_of(person, "zh-CN"))
    assert ENGLISH in page(browser_of(person, "en"))


def test_the_sign_in_page_offers_every_language_and_keeps_the_choice_in_the_browser(db):
    client = Client(headers={"Accept-Language": "en"})
    before = client.get("/account/login").content.decode()
    answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/account/login"})

    assert 'value="zh-hans"' in before
    assert ENGLISH in before
    assert answer.headers["Location"] == "/account/login"
    assert CHINESE in client.get("/account/login").content.decode()


@pytest.mark.parametrize("language", ["", "xx", "de", "zh-hans\x00", "z" * 5000])
def test_a_language_that_is_not_spoken_changes_nothing(person, language):
    client = browser_of(person)
    client.post("/i18n/setlang/", {"language": language, "next": "/"})
    person.refresh_from_db()

    assert person.language == ""
    assert ENGLISH in page(client)


def test_opening_the_address_of_a_choice_changes_nothing(person):
    client = browser_of(person)
    answer = client.get("/i18n/setlang/?language=zh-hans&next=/")
    person.refresh_from_db()

    assert answer.status_code == 302
    assert person.language == ""
