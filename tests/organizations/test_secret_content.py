"""What a secret may hold: a token and a registry's login are sent as headers later, where nobody sees what is wrong."""

import pytest

from core.errors import InvalidInput
from organizations.secrets import checked_content

LOGIN = {"server": "nvcr.io", "username": "$oauthtoken", "password": "nv api-kéy"}


@pytest.mark.parametrize(
    "token",
    ["hf_ab\u200bcd", "\ufeffhf_abcd", "hf_ab cd", "hf_\u202eabcd", "hf_\x1b[31m", "hf_a\nb", "hf_аbcd"],
)
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_content("hugging-face", "", {"token": token})

    (fault,) = refused.value.faults
    assert (fault.field, fault.allowed) == ("token", "printable ASCII characters without spaces")
    assert token not in fault.sentence


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("server", "nvcr.io\u200b"),
        ("server", "nvcr io"),
        ("username", "me:you"),  # RFC 7617: it would end the name
        ("username", "me\x00"),
        ("password", "se\ncret"),
        ("password", "se\x7fcret"),
    ],
)
def test_a_login_that_cannot_be_sent_is_refused_by_its_field(field: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_content("registry", "pull", LOGIN | {field: value})

    assert [fault.field for fault in refused.value.faults] == [field]


def test_what_can_be_sent_is_kept_as_it_is_without_space_around_it() -> None:
    assert checked_content("hugging-face", "", {"token": " hf_abcd\n"}) == {"HF_TOKEN": "hf_abcd", "token": "hf_abcd"}
    assert '"nv api-k\\u00e9y"' in checked_content("registry", "pull", LOGIN)[".dockerconfigjson"]
