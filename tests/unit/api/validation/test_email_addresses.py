"""Email addresses that the service accepts or rejects."""

import pytest

from api.validation.fields import check_email_address


@pytest.mark.parametrize(
    "text",
    [
        "guard@example.com",
        "o'brien+gate_1@mail.example.co.uk",
        "a@b.c",
        "x" * 64 + "@" + "d" * 63 + ".example",
        "guard@xn--bcher-kva.example",
    ],
)
def test_an_address_stays_as_it_is(text: str) -> None:
    assert check_email_address(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "guard",
        "guard@",
        "@example.com",
        "guard@example",
        "guard@@example.com",
        "a@b@example.com",
        "guard@example..com",
        "guard@-example.com",
        "guard@example.com.",
        "guard@127.0.0.1",
        "guard@[127.0.0.1]",
        ".guard@example.com",
        "gu..ard@example.com",
        '"guard"@example.com',
        "gu ard@example.com",
        "guard@example.com ",
        "guard@example.com\n",
        "guard@example.com\r\nBcc: all@example.com",
        "Guard <guard@example.com>",
        "a@example.com,b@example.com",
        "gärd@example.com",
        "guard@bücher.example",
        "x" * 65 + "@example.com",
        "guard@" + "d" * 64 + ".com",
        "guard@" + "d." * 130 + "com",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid email address"):
        check_email_address(text)
