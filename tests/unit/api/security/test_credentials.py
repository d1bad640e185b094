"""The form of API keys."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.security import credentials


def test_a_new_key_is_well_formed_and_new() -> None:
    made = [credentials.new_api_key() for _ in range(200)]

    assert len(set(made)) == len(made)
    for key in made:
        assert key.startswith("pk_")
        assert len(key) == 43
        assert set(key[3:]) <= set(string.ascii_letters + string.digits)
        assert credentials.is_api_key(key)


@given(st.integers(3, 42), st.sampled_from(string.ascii_letters + string.digits))
def test_one_wrong_character_is_noticed(place: int, character: str) -> None:
    key = credentials.new_api_key()
    mistyped = key[:place] + character + key[place + 1 :]

    assert credentials.is_api_key(mistyped) == (mistyped == key)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pk_",
        "pk_" + "a" * 40,
        "sk_" + credentials.new_api_key()[3:],
        credentials.new_api_key() + "\n",
        "pk_é" * 9,
    ],
    ids=["nothing", "prefix", "checksum", "other prefix", "line end", "letters"],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    assert not credentials.is_api_key(text)


def test_the_checksum_never_changes() -> None:
    # CRC-32 (zlib) of 34 zeros in base62; keys in the hands of clients depend on it.
    assert credentials.is_api_key("pk_" + "0" * 34 + "0iqUEf")


def test_only_hash_and_prefix_are_kept() -> None:
    key = credentials.new_api_key()

    assert len(credentials.key_hash(key)) == 32
    assert credentials.shown_prefix(key) == key[:11]
