"""The format of API keys."""

import string
from importlib.resources import files

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
    # CRC-32 (zlib) of 34 zeros in base62. Existing keys of clients depend on this value.
    assert credentials.is_api_key("pk_" + "0" * 34 + "0iqUEf")


def test_only_hash_and_prefix_are_stored() -> None:
    key = credentials.new_api_key()

    assert len(credentials.key_hash(key)) == 32
    assert credentials.shown_prefix(key) == key[:11]


def test_hashes_of_one_salt_are_found_by_one_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    first = credentials.hash_password("one of them")
    second = credentials.hash_password("another one", first)
    other = credentials.hash_password("one of them")
    computed: list[str] = []
    compute = credentials.hash_password

    def counted(password: str, like: str = "") -> str:
        computed.append(like)
        return compute(password, like)

    monkeypatch.setattr(credentials, "hash_password", counted)

    assert first.rpartition("$")[0] == second.rpartition("$")[0] != other.rpartition("$")[0]
    assert credentials.matching_hashes("another one", (first, second)) == {second}
    assert len(computed) == 1
    assert credentials.matching_hashes("one of them", (first, second, other)) == {first, other}
    assert credentials.matching_hashes("x", (first, second)) == frozenset()
    assert credentials.matching_hashes("one of then", (other,)) == frozenset()


@pytest.mark.parametrize(
    ("password", "end"),
    [
        ("short", "8 to 1024 characters"),
        ("x" * 1025, "8 to 1024 characters"),
        ("password1", "common passwords"),
        (" PassWord1 ", "common passwords"),
        ("TRUSTNO1", "common passwords"),
        ("a password of a test", None),
        ("# The 10,000 most common passwords of 8 or more characters, lower case.", None),
    ],
)
def test_a_password_is_neither_short_nor_common(password: str, end: str | None) -> None:
    fault = credentials.password_fault(password)

    assert (fault is None) == (end is None)
    assert end is None or (fault or "").endswith(end)


def test_the_list_has_ten_thousand_passwords_that_are_long_enough() -> None:
    text = (files("api.security") / "common_passwords.txt").read_text(encoding="utf-8")
    listed = [line for line in text.splitlines() if not line.startswith("# ")]

    assert len(set(listed)) == len(listed) == 10_000
    assert all(len(one) >= credentials.MIN_PASSWORD_CHARACTERS for one in listed)
    assert all(one == one.lower().strip() for one in listed)
