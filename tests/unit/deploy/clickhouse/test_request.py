"""Parsing of HTTP requests."""

import base64

import pytest

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.request import credentials_of, parse_form, parse_request


def test_settings_parameters_and_the_interface_are_distinguished() -> None:
    request = parse_request(
        "POST",
        b"query=SELECT+%7Bx%3AString%7D&param_x=a%5Ctb&max_threads=1&database=d&query_id=q"
        b"&session_id=s&client_protocol_version=54405&wait_end_of_query=1&default_format=JSON",
        {"content-encoding": "LZ4"},
    )

    assert request.query == "SELECT {x:String}"
    assert request.parameters == {"x": "a\\tb"}
    assert request.settings == {"max_threads": "1"}
    assert (request.database, request.query_id) == ("d", "q")
    assert request.default_format == "JSON"
    assert request.content_encoding == "lz4"
    assert not request.is_read_only


@pytest.mark.parametrize(
    "query_string", [b"client_protocol_version=54483", b"decompress=1", b"decompress=true"]
)
def test_clickhouse_go_is_rejected_in_a_sentence(query_string: bytes) -> None:
    with pytest.raises(ClickHouseError, match="does not support clickhouse-go") as caught:
        parse_request("POST", query_string, {})

    assert caught.value.code == ErrorCode.NOT_IMPLEMENTED


def _form(*parts: tuple[str, bytes]) -> tuple[str, bytes]:
    body = b"".join(
        b"--xyz\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n" % (head.encode(), text)
        for head, text in parts
    )
    return 'multipart/form-data; boundary="xyz"', body + b"--xyz--\r\n"


def test_form_carries_statement_and_parameters() -> None:
    query, parameters = parse_form(
        *_form(
            ('name="query"', "SELECT {x:String} -- Grüße\r\nFORMAT TSV".encode()),
            ('name="param_x"', b"a\\\n\r\nb--xy "),
        )
    )

    assert query == "SELECT {x:String} -- Grüße\r\nFORMAT TSV"
    assert parameters == {"x": "a\\\n\r\nb--xy "}


def test_damaged_form_is_refused() -> None:
    with pytest.raises(ClickHouseError) as caught:
        parse_form("multipart/form-data", b"no boundary")

    assert caught.value.code == ErrorCode.BAD_ARGUMENTS


_BASIC = "Basic " + base64.b64encode(b"ann:p:w").decode()


@pytest.mark.parametrize(
    ("query_string", "headers", "expected"),
    [
        (b"", {"authorization": _BASIC}, ("ann", "p:w")),
        (b"", {"x-clickhouse-user": "ann", "x-clickhouse-key": "pw"}, ("ann", "pw")),
        (b"user=ann&password=p%26w", {}, ("ann", "p&w")),
        (b"", {}, ("", "")),
        (b"", {"authorization": "Basic ???"}, ("", "")),
        (b"", {"authorization": "Bearer abc"}, ("", "")),
    ],
)
def test_credentials_are_read_from_each_place(
    query_string: bytes, headers: dict[str, str], expected: tuple[str, str]
) -> None:
    assert credentials_of(query_string, headers) == expected
